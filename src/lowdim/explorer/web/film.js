// A way between two rows or two groups of rows, as a film: its ends, the place so far along, and playing it.
import {FRAMES} from "./address.js";
import {button, field} from "./controls.js";
import {counted, el} from "./words.js";

const SUGGESTED = 40;

/** @typedef {{place: number[], words: string}} WayEnd */

/** What a field names: a row, "rows 3-7,12", or "label = value"; null where there is no such thing.
 * @param {any} app @param {string} text @returns {Promise<WayEnd | null>} */
export async function wayEnd(app, text) {
  const {facts} = app,
    spoken = text.match(/^rows ([\d,-]+)$/),
    named = text.indexOf(" = "),
    label = facts.labels.findIndex((/** @type {any} */ l) => named > 0 && l.name === text.slice(0, named));
  /** @type {ArrayLike<number>} */ let rows = [];
  if (spoken) rows = app.rows.rowsOf(spoken[1]);
  else if (label >= 0) {
    const code = facts.labels[label].values.indexOf(text.slice(named + 3)),
      codes = await app.data.codes(label);
    rows = Array.from(codes.keys()).filter(i => code >= 0 && codes[i] === code);
  } else {
    const row = text ? app.rows.search(text) : -1;
    rows = row < 0 ? [] : [row];
  }
  if (!rows.length) return null;
  const axes = await Promise.all(Array.from({length: facts.q}, (_, k) => app.data.numbers(`axis/${k}`)));
  const place = axes.map(axis => {
    let sum = 0;
    for (let k = 0; k < rows.length; k++) sum += axis[rows[k]];
    return sum / rows.length;
  });
  const words = rows.length === 1 ? `row ${app.nameOf(rows[0])}` : label >= 0 ? text : counted(rows.length, "row");
  return {place, words};
}

/** The controls of a way: its ends, how far along, and playing it. @param {any} app */
export function filmControls(app) {
  const {facts} = app,
    list = el("datalist", {id: app.id("ends")}),
    end = (/** @type {string} */ key) =>
      el("input", {
        type: "text",
        list: app.id("ends"),
        autocomplete: "off",
        onchange: (/** @type {any} */ e) => set({[key]: e.target.value.trim()}),
      }),
    from = end("from"),
    to = end("to");
  const slider = el("input", {
    type: "range",
    min: 0,
    max: FRAMES,
    oninput: () => move(Number(slider.value), false),
    onchange: () => app.go({}),
  });
  const play = button("Play", () => run()),
    byGroup = ["from", "to"].map(key =>
      button(key === "from" ? "From the group" : "To the group", () =>
        set({[key]: `rows ${app.rows.spans(app.state.group)}`}),
      ),
    );
  const fields = /** @type {Record<string, any>} */ ({from, to});
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {WayEnd[] | null} */ let ends = null;
  let finding = {key: "", done: Promise.resolve()},
    playing = false;

  const element = el(
    "div",
    {},
    el("h2", {}, "A way between two rows or groups"),
    el("p", {class: "quiet"}, "A row's name or number; rows 3-7,12, counted likewise; or a label's value."),
    field("From", from),
    field("To", to),
    el("div", {class: "pair"}, ...byGroup),
    field("How far along", slider),
    el("div", {class: "pair"}, play),
    list,
  );
  list.append(
    ...facts.labels
      .flatMap((/** @type {any} */ l) => l.values.filter(Boolean).map((/** @type {string} */ v) => `${l.name} = ${v}`))
      .concat(facts.odd.map((/** @type {any} */ r) => r.name))
      .slice(0, SUGGESTED)
      .map((/** @type {string} */ value) => el("option", {value})),
  );

  const set = async (/** @type {any} */ change) => {
    Object.assign(app.state, change, {along: 0});
    await find();
    if (ends) move(0, true);
    else app.go({});
  };
  /** The ends that the state names; a field that names nothing says so. */
  const find = () => {
    const {from: a, to: b} = app.state,
      key = `${a}\n${b}`;
    if (key !== finding.key) finding = {key, done: resolve(a, b)};
    return finding.done;
  };
  const resolve = async (/** @type {string} */ a, /** @type {string} */ b) => {
    const found = await Promise.all([wayEnd(app, a), wayEnd(app, b)]);
    [a, b].forEach((text, k) => {
      [from, to][k].setCustomValidity(text && !found[k] ? "a row, rows such as 3-7,12, or a label's value" : "");
    });
    ends = found[0] && found[1] ? /** @type {WayEnd[]} */ (found) : null;
  };
  const at = (/** @type {number} */ share) =>
    /** @type {WayEnd[]} */ (ends)[0].place.map((v, k) => v + (/** @type {WayEnd[]} */ (ends)[1].place[k] - v) * share);
  const move = (/** @type {number} */ frame, /** @type {boolean} */ push) => {
    if (!ends) return ask();
    return app.go({along: frame, place: at(frame / FRAMES)}, {push});
  };
  const ask = () => {
    const empty = [from, to].find(f => !f.value.trim());
    empty ? empty.focus() : [from, to].every(f => f.reportValidity());
    app.say("A way needs two ends: a row, rows such as 3-7,12, or a label's value.");
  };
  const run = async () => {
    if (playing) return stop();
    if (!ends) return ask();
    if (reduced.matches) {
      slider.focus();
      return app.say("Motion is reduced on this computer: move the slider to go along the way.");
    }
    playing = true;
    play.textContent = "Stop";
    const first = app.state.along < FRAMES ? app.state.along : 0;
    for (let frame = first; frame <= FRAMES && playing && app.state.screen === "place" && ends; frame++) {
      await move(frame, false);
      await new Promise(done => setTimeout(done, 50));
    }
    stop();
    if (app.state.screen === "place") app.go({});
  };
  const stop = () => {
    playing = false;
    play.textContent = "Play";
  };

  const paint = async () => {
    for (const key of ["from", "to"])
      if (document.activeElement !== fields[key]) fields[key].value = app.state[key];
    await find();
    slider.value = String(app.state.along);
    slider.setAttribute("aria-valuetext", `${Math.round((100 * app.state.along) / FRAMES)}% of the way`);
    for (const each of byGroup) each.hidden = !app.state.group || !app.rows.spans(app.state.group);
  };
  return {element, paint, at, ends: () => ends, playing: () => playing};
}
