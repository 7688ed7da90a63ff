// Compare: up to four maps of the same rows, laid over each other by Procrustes; one lasso for all.
import {bounds} from "./grid.js";
import {Scatter} from "./scatter.js";
import {brief, counted, el} from "./words.js";

const MOST_MAPS = 3; // beside this map
const TITLES = /** @type {Record<string, string>} */ ({
  pca: "PCA",
  fa: "factor analysis",
  gtm: "GTM",
  isomap: "Isomap",
  kpca: "kernel PCA",
});

/** @param {any} app */
export function compareScreen(app) {
  const {facts} = app;
  if (!facts.maps.length || facts.q < 1) return null;
  const grid = el("div", {class: "maps"}),
    sentence = el("p", {class: "lead"}),
    list = el("ul"),
    boxes = new Map();
  for (const name of facts.maps)
    boxes.set(
      name,
      el("input", {
        type: "checkbox",
        onchange: () =>
          app.go({maps: facts.maps.filter((/** @type {string} */ m) => boxes.get(m).checked).slice(0, MOST_MAPS)}),
      }),
    );
  const lasso = el(
    "button",
    {type: "button", "aria-pressed": "false", onclick: () => arm(lasso.getAttribute("aria-pressed") !== "true")},
    "Draw round rows (L)",
  );
  /** The maps that are shown. */
  const scatters = () => ["", ...app.state.maps].map(name => made.get(name)?.scatter).filter(Boolean);
  const arm = (/** @type {boolean} */ on) => {
    for (const f of made.values()) if (f.scatter) f.scatter.wantsLasso = on;
    lasso.setAttribute("aria-pressed", String(on));
    if (on) app.say("Draw round some rows on any map with the pointer.");
  };
  /** On the map that has the focus, else on the first. */
  const keyLasso = () => (scatters().find(map => map.over === document.activeElement) ?? scatters()[0])?.keyLasso();
  const controls = el(
    "div",
    {},
    el("h2", {}, "Other maps of these rows"),
    el("p", {class: "quiet"}, "Fitted on this computer when they are ticked; up to three."),
    ...facts.maps.map((/** @type {string} */ name) =>
      el("label", {class: "tick"}, boxes.get(name), TITLES[name] ?? name),
    ),
    el("p", {class: "quiet"}, "Rows drawn round on one map are marked on all: Shift and drag, or"),
    el(
      "div",
      {class: "pair"},
      lasso,
      el("button", {type: "button", onclick: () => keyLasso()}, "Draw with keys (K)"),
      el("button", {type: "button", onclick: () => app.go({group: null}, {said: "Group cleared."})}, "Clear group"),
    ),
  );
  const inspector = el("div", {}, el("h2", {}, "How far they agree"), sentence, list);
  /** @type {Map<string, any>} */ const made = new Map();

  const frame = (
    /** @type {string} */ title,
    /** @type {ArrayLike<number>} */ x,
    /** @type {ArrayLike<number>} */ y,
  ) => {
    const scatter = new Scatter({
      label: `${title}. Shift and drag draws round rows; K does so with the keys.`,
      say: app.say,
      picked: (/** @type {number} */ row) => app.pickRow(row),
      lassoed: (/** @type {Uint32Array} */ rows) => app.lassoed(rows),
      stepped: (/** @type {number} */ dx, /** @type {number} */ dy) => app.step(dx || dy),
      overlay: (context, map) => {
        const i = app.state.row,
          [a, b] = map.at(map.px[i], map.py[i]);
        app.ringAt(context, map, a, b);
        app.tag(context, a, b, brief(app.nameOf(i), 24), map);
      },
    });
    return {scatter, x, y, title, element: el("figure", {}, el("figcaption", {}, title), scatter.element), off: 0};
  };
  /** @type {string | null} */ let framed = null; // the maps that share the frame
  /** One frame that holds the rows of all maps. @param {any[]} frames */
  const shared = frames => {
    const all = frames.map(f => bounds(f.x, f.y)),
      low = (/** @type {"x" | "y"} */ k) => Math.min(...all.map(v => v[k])),
      [x, y] = [low("x"), low("y")];
    return {x, y, w: Math.max(...all.map(v => v.x + v.w)) - x, h: Math.max(...all.map(v => v.y + v.h)) - y};
  };
  const own = async () => {
    if (made.has("")) return;
    const x = await app.data.numbers("axis/0"),
      y = facts.q > 1 ? await app.data.numbers("axis/1") : new Float32Array(facts.n);
    made.set("", frame(`${facts.method.title} (this map)`, x, y));
  };
  const paint = async () => {
    await own();
    const wanted = app.state.maps;
    for (const name of facts.maps) boxes.get(name).checked = wanted.includes(name);
    for (const name of wanted)
      if (!made.has(name)) {
        sentence.textContent = `Fitting ${TITLES[name]}…`;
        const answer = await app.source.json(`map/${name}`),
          {z} = answer;
        made.set(
          name,
          answer.problem
            ? {problem: answer.problem}
            : {
                ...frame(
                  answer.title,
                  Float64Array.from({length: facts.n}, (_, i) => z[2 * i]),
                  Float64Array.from({length: facts.n}, (_, i) => z[2 * i + 1]),
                ),
                off: answer.off,
              },
        );
      }
    const shown = ["", ...wanted].map(name => made.get(name)).filter(Boolean),
      good = shown.filter(f => !f.problem);
    const elements = good.map(f => f.element);
    if (elements.length !== grid.children.length || elements.some((e, k) => grid.children[k] !== e))
      grid.replaceChildren(...elements);
    const home = shared(good),
      changed = framed !== wanted.join();
    framed = wanted.join();
    for (const f of good) {
      f.scatter.set(
        {x: f.x, y: f.y, ...app.painted},
        f.scatter === made.get("").scatter ? ["axis 1", "axis 2"] : ["axis 1, turned to lie over this map", "axis 2"],
        true,
      );
      f.scatter.home = home;
      if (changed) f.scatter.fit();
    }
    list.replaceChildren(
      ...shown
        .slice(1)
        .map((f, k) =>
          el(
            "li",
            {},
            f.problem
              ? `${TITLES[wanted[k]]} cannot be made of this table: ${f.problem}`
              : `${f.title}: ${Math.round(100 * f.off)}% of the spread of this map is not met by it`,
          ),
        ),
    );
    sentence.textContent = wanted.length
      ? "Each map is shifted, turned and scaled to lie over the first two axes of this one."
      : "Tick a map to lay it beside this one.";
    const agreement = Array.from(list.children, item => `${item.textContent}.`),
      group = app.state.group ? `${counted(app.state.group.length, "row")} drawn round, marked on all.` : "";
    app.numbers = {
      off: Object.fromEntries(wanted.map((/** @type {string} */ name) => [name, made.get(name)?.off ?? null])),
    };
    app.say(`${app.said} ${wanted.length ? agreement.join(" ") : sentence.textContent} Row ${app.nameOf(app.state.row)}. ${group}`);
  };
  const python = () => {
    const mine = facts.q > 1 ? "subject.places.z[:, :2]" : "np.column_stack([subject.places.z, 0 * subject.places.z])",
      names = app.state.maps.map((/** @type {string} */ m) => `"${m}"`).join(", ");
    if (!names) return `${app.pythonSubject()}\nprint(subject.places.z[:, :2])`;
    return [
      app.pythonSubject(),
      ...(facts.q > 1 ? [] : ["import numpy as np"]),
      `mine, off = ${mine}, {}`,
      `for name in [${names}]:`,
      `    other = ld.fit_method(subject.table, name, dims=${Math.min(2, facts.columns.length)})`,
      "    off[name] = ld.procrustes(other.places.z[:, :2], mine).error",
      "print(off)",
    ].join("\n");
  };
  return {
    name: "Compare",
    arm,
    keyLasso,
    maps: scatters,
    controls,
    view: grid,
    inspector,
    paint,
    command: () => "", // lowdim compare judges by hidden cells: other numbers than these
    python,
    close: () => made.forEach(f => f.scatter?.close()),
  };
}
