// Place: drag a cross on the map and read the row that lives there, with its band.
import {button, dataTable, field, numbersRow, pickList} from "./controls.js";
import {ink, svg} from "./draw.js";
import {formOf, pictureOf} from "./pictures.js";
import {inwardOf} from "./row_panel.js";
import {latestOnly} from "./source.js";
import {brief, el, figures, figuresBySd, named, percent, shellWord, signed} from "./words.js";

const CELLS_LISTED = 40,
  NAMED_BARS = 40, // columns whose names stand below their bars
  LEAST_PROFILE = 8;

/** @param {any} app */
export function placeScreen(app) {
  const {facts} = app;
  if (!facts.decodes) return null; // no row lives anywhere
  const mapBox = el("div", {class: "map-box"}),
    picture = el("div", {class: "picture"}),
    view = el("div", {class: "grow"}, mapBox, picture);
  const width = el("input", {
    type: "number",
    min: 0,
    max: facts.columns.length,
    onchange: () => {
      const wide = width.value === "" ? null : Number(width.value),
        fits = wide === null || (Number.isInteger(wide) && wide >= 0 && wide <= facts.columns.length);
      if (fits) app.go({wide});
      else app.go({}, {said: `The width is a whole number from 0 to ${facts.columns.length}: nothing was changed.`});
    },
  });
  const how = el("p", {class: "quiet"}),
    toGroup = button("Go to the middle of the group", () => toRows(app.state.group));
  const sliders = el("div");
  const controls = el(
    "div",
    {},
    how,
    el(
      "div",
      {class: "pair"},
      button("Go to the chosen row", () => toRows([app.state.row])),
      toGroup,
      button("Go to the middle", () => app.go({place: Array(facts.q).fill(0)})),
    ),
    sliders,
    el("h2", {}, "Picture"),
    field("Columns as an image so many pixels wide (0: no picture)", width),
  );
  const sentence = el("p", {class: "lead"}),
    warning = el("p", {class: "warning", role: "alert", hidden: true}),
    near = el("div"),
    body = el("tbody"),
    worded = app.cells.some((/** @type {any} */ c) => c.answers.length),
    table = dataTable(
      `What lives here, farthest from the average first; 90% of new cells lie in the band${worded ? ". Of answers: the likeliest, its chance here and its share of all rows" : ""}`,
      worded ? ["column", "here", "band or chance", "off average or share"] : ["column", "value", "90% band", "off average"],
      body,
    ),
    inspector = el("div", {}, el("h2", {}, "The row that lives here"), sentence, warning, near, table);
  const ask = latestOnly(name => app.source.json(name));
  let asked = false;
  /** @type {any} */ let shade = null;

  const z = () => app.state.place ?? Array(facts.q).fill(0);
  const move = (/** @type {number} */ x, /** @type {number} */ y, /** @type {boolean} */ push) => {
    const place = [...z()],
      [a, b] = app.shownAxes;
    if (a === null && b === null) return app.say(howWords());
    if (b !== null) place[b] = y;
    if (a !== null) place[a] = x;
    app.go({place}, {push});
  };
  /** How the place is moved on this map, which may show both axes, one or none. */
  const howWords = () => {
    const many = app.shownAxes.filter((/** @type {any} */ k) => k !== null).length;
    if (!many) return "The map shows no axis to drag along: move the sliders, or choose axes on Map.";
    return `Drag the ${many === 2 ? "cross" : "line"} on the map, or move it with the arrow keys (with Shift further).`;
  };
  /** To the mean of some rows' places. @param {ArrayLike<number>} rows */
  const toRows = async rows => {
    const all = await Promise.all(Array.from({length: facts.q}, (_, k) => app.data.numbers(`axis/${k}`)));
    app.go({place: all.map(axis => Array.from(rows).reduce((sum, i) => sum + axis[i], 0) / rows.length)});
  };

  /** @param {any} c */
  const cellRow = c =>
    c.word === undefined
      ? numbersRow(named(c.column, 40), figuresBySd(c.value, c.sd, 3), `${figures(c.low, 3)} to ${figures(c.high, 3)}`, `${signed(c.off)} sd`)
      : numbersRow(named(c.column, 40), brief(c.word, 24), percent(c.chance), `${percent(c.usual)} of rows`);

  const paint = async () => {
    app.mapInto(mapBox);
    how.textContent = howWords();
    toGroup.hidden = !app.state.group;
    paintSliders(z());
    app.map.draw(); // the cross goes with the pointer, what lives there follows
    const found = await ask(`at/${z().join(",")}.json`);
    if (found && app.state.screen === "place") show(found);
  };

  /** What lives at a place: of a movement each answer that comes, the last of them where it ends. @param {any} found */
  const show = found => {
    const {cells} = found,
      order = [...cells].sort((a, b) => Math.abs(b.off) - Math.abs(a.off)),
      values = (/** @type {string} */ key) => cells.map((/** @type {any} */ c) => c[key] ?? null);
    body.replaceChildren(...order.slice(0, CELLS_LISTED).map(cellRow));
    sentence.textContent = app.short(found.sentence);
    app.numbers = {z: found.place, mean: values("value"), ...Object.fromEntries(["low", "high", "word", "chance"].map(key => [key, values(key)]))};
    warning.hidden = found.been;
    warning.textContent = found.warning;
    near.replaceChildren(
      el("h3", {}, "Nearest rows, over all columns"),
      pickList(
        found.near.map((/** @type {any} */ r) => ({
          text: `Row ${brief(r.name, 24)}`,
          pick: () => app.go({screen: app.rowScreen, row: r.row, hidden: new Set(), edited: new Map()}),
          beside: ` ${figures(r.far, 2)} sd a cell away`,
        })),
      ),
    );
    const pictured = paintPicture(found.numbers),
      rows = found.near.slice(0, 2).map((/** @type {any} */ r) => `row ${r.name}`);
    if (!app.moving) app.say(`${app.said} ${found.sentence} ${found.warning} ${pictured} Nearest: ${rows.join(" and ")}.`);
  };

  const paintSliders = (/** @type {number[]} */ place) => {
    const others = place
      .map((_, k) => k)
      .filter(k => !app.shownAxes.includes(k))
      .slice(0, 12);
    const known = [...sliders.querySelectorAll("input")].map((/** @type {any} */ i) => i.dataset.axis).join();
    if (known !== others.join())
      sliders.replaceChildren(
        ...others.map(k =>
          field(
            `Axis ${k + 1}`,
            el("input", {
              type: "range",
              min: -3,
              max: 3,
              step: 0.05,
              "data-axis": String(k),
              oninput: (/** @type {any} */ e) => {
                const next = [...z()];
                next[k] = Number(e.target.value) * facts.axes[k].width;
                app.go({place: next}, {push: false});
              },
              onchange: () => app.go({}),
            }),
          ),
        ),
      );
    for (const input of /** @type {any} */ (sliders.querySelectorAll("input")))
      input.value = place[Number(input.dataset.axis)] / facts.axes[Number(input.dataset.axis)].width;
  };

  /** What the columns form; where they form nothing, each with its band; in words. @param {any[]} cells */
  const paintPicture = cells => {
    const form = formOf(facts, app.state.wide);
    width.value = app.state.wide === null ? (form?.kind === "image" ? String(form.width) : "") : String(app.state.wide);
    if (!form || !cells.length) {
      picture.replaceChildren(...(app.state.wide === 0 ? [] : profile(cells)));
      return "";
    }
    const {element, words} = pictureOf(facts, form, cells);
    picture.replaceChildren(element, el("p", {class: "quiet note"}, `${words[0].toUpperCase()}${words.slice(1)}.`));
    return `It looks like ${words}.`;
  };

  /** Columns that form nothing: a band and a mark each, in spreads from the average. @param {any[]} cells */
  const profile = cells => {
    if (cells.length < LEAST_PROFILE) return [];
    const {columns, middle, spread} = facts,
      most = Math.max(2, ...cells.map(c => Math.abs(c.off))),
      step = 580 / cells.length,
      y = (/** @type {number} */ v) => 60 - (50 * Math.max(-most, Math.min(most, v))) / most;
    const names = cells.length <= NAMED_BARS,
      longest = Math.max(...columns.map((/** @type {any} */ c) => brief(c.name, 16).length)),
      words = `Each column in spreads from its average: mark, and band of 90%${names ? "" : "; point at one for its name"}.`;
    return [
      svg(
        "svg",
        {viewBox: names ? `-40 0 640 ${130 + 6.5 * longest}` : "0 0 600 120", role: "img", class: "curve"},
        svg("title", {}, words),
        svg("line", {x1: 10, x2: 590, y1: 60, y2: 60, class: "zero"}),
        ...cells.flatMap((c, j) => {
          const {name} = columns[j],
            off = (/** @type {number} */ v) => y((inwardOf(columns[j], v) - middle[j]) / spread[j]),
            [low, high, x] = [off(c.low), off(c.high), 10 + j * step],
            at = x + step / 2;
          return [
            svg("rect", {x: x + 0.1 * step, width: 0.8 * step, y: high, height: Math.max(low - high, 1), class: "band"}, svg("title", {}, brief(name, 60))),
            svg("rect", {x: x + 0.1 * step, width: 0.8 * step, y: y(c.off) - 1.5, height: 3, class: "mark"}),
            ...(names
              ? [svg("text", {x: at, y: 124, transform: `rotate(-60 ${at} 124)`, "text-anchor": "end", class: "bar-name"}, brief(name, 16))]
              : []),
          ];
        }),
      ),
      el("p", {class: "quiet note"}, words),
    ];
  };

  /** Where no row has been, as the warning has it: asked for anew where the view or the other axes have moved. */
  const shading = async (/** @type {import("./scatter.js").Scatter} */ map) => {
    const {x, y, w, h} = map.view,
      at = [...z()];
    for (const k of app.latent) at[k] = 0;
    const key = [...app.latent, x, y, w, h, ...at].join(",");
    if (asked || shade?.key === key) return;
    asked = true;
    try {
      const found = await app.source.json(`empty/${key}.json`);
      shade = {key, view: {x, y, w, h}, side: found.side, cells: found.cells};
    } catch {
      shade = {key, view: {x, y, w, h}, side: 1, cells: []};
    }
    asked = false;
    map.draw(); // asks again where the view has moved since
  };
  const overlay = (
    /** @type {CanvasRenderingContext2D} */ context,
    /** @type {import("./scatter.js").Scatter} */ map,
  ) => {
    const [a, b] = app.shownAxes;
    if (a === null && b === null) return;
    if (app.latent) {
      shading(map);
      drawShade(context, map);
    }
    const at = z(),
      [x, y] = map.at(a === null ? 0 : at[a], b === null ? 0 : at[b]),
      {left, top, width: wide, height: high} = map.frame();
    for (const [colour, thick] of [
      ["--paper", 7],
      ["--accent", 3],
    ]) {
      context.strokeStyle = ink(/** @type {string} */ (colour), map.element);
      context.lineWidth = /** @type {number} */ (thick);
      context.beginPath();
      if (b !== null) {
        context.moveTo(a === null ? left : x - 14, y);
        context.lineTo(a === null ? left + wide : x + 14, y);
      }
      if (a !== null) {
        context.moveTo(x, b === null ? top : y - 14);
        context.lineTo(x, b === null ? top + high : y + 14);
      }
      context.stroke();
    }
  };
  /** @param {CanvasRenderingContext2D} context @param {import("./scatter.js").Scatter} map */
  const drawShade = (context, map) => {
    if (!shade) return;
    const {view: v, side} = shade;
    context.fillStyle = ink("--shade", map.element);
    for (const cell of shade.cells) {
      const [i, j] = [Math.floor(cell / side), cell % side],
        [x0, y0] = map.at(v.x + (i / side) * v.w, v.y + ((j + 1) / side) * v.h).map(Math.round),
        [x1, y1] = map.at(v.x + ((i + 1) / side) * v.w, v.y + (j / side) * v.h).map(Math.round);
      context.fillRect(x0, y0, x1 - x0, y1 - y0);
    }
  };
  const note = () => (app.latent ? "Shaded: no row has been there. Hollow points: rows with gaps." : "");
  const stepped = (/** @type {number} */ dx, /** @type {number} */ dy, /** @type {boolean} */ far) => {
    const [a, b] = app.shownAxes,
      by = far ? 0.1 : 0.02,
      at = (/** @type {number | null} */ k) => (k === null ? 0 : z()[k]);
    move(at(a) + dx * by * app.map.view.w, at(b) + dy * by * app.map.view.h, true);
  };
  const command = () =>
    facts.run ? ["lowdim", "explain", facts.run, `--place=${z().join(",")}`].map(shellWord).join(" ") : "";
  const python = () =>
    `${app.pythonSubject()}\ncard = subject.at([${z().join(", ")}])\nprint(card.text())`;
  return {name: "Place", controls, view, inspector, paint, overlay, note, stepped, dragged: move, command, python};
}
