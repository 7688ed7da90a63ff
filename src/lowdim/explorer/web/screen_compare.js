// Compare: up to four maps of the same rows, laid over each other by Procrustes; one lasso for all.
import {Scatter} from "./scatter.js";
import {counted, el} from "./words.js";

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
  const controls = el(
    "div",
    {},
    el("h2", {}, "Other maps of these rows"),
    el("p", {class: "quiet"}, "Fitted on this computer when they are ticked; up to three."),
    ...facts.maps.map((/** @type {string} */ name) =>
      el("label", {class: "tick"}, boxes.get(name), TITLES[name] ?? name),
    ),
    el("p", {class: "quiet"}, "Shift and drag on any map to draw round rows: they are marked on all."),
  );
  const inspector = el("div", {}, el("h2", {}, "How far they agree"), sentence, list);
  /** @type {Map<string, any>} */ const made = new Map();

  const frame = (
    /** @type {string} */ title,
    /** @type {ArrayLike<number>} */ x,
    /** @type {ArrayLike<number>} */ y,
  ) => {
    const scatter = new Scatter({
      label: `${title}. Shift and drag draws round rows.`,
      say: app.say,
      picked: (/** @type {number} */ row) => app.go({row}),
      lassoed: (/** @type {Uint32Array} */ rows) =>
        app.go({group: rows.length ? rows : null}, {said: `${counted(rows.length, "row")} chosen.`}),
      overlay: (context, map) => {
        const i = app.state.row,
          [a, b] = map.at(map.px[i], map.py[i]);
        app.ringAt(context, map, a, b);
      },
    });
    return {scatter, x, y, title, element: el("figure", {}, el("figcaption", {}, title), scatter.element), off: 0};
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
          z = answer.z && app.unpacked(answer.z);
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
    for (const f of good) {
      f.scatter.set(
        {x: f.x, y: f.y, ...app.painted},
        f.scatter === made.get("").scatter ? ["axis 1", "axis 2"] : ["axis 1, turned to lie over this map", "axis 2"],
        f.placed,
      );
      f.placed = true;
    }
    list.replaceChildren(
      ...shown
        .slice(1)
        .map((f, k) =>
          el(
            "li",
            {},
            f.problem
              ? `${TITLES[wanted[k]]}: ${f.problem}`
              : `${f.title}: ${Math.round(100 * f.off)}% of the spread of this map is not met by it`,
          ),
        ),
    );
    sentence.textContent = wanted.length
      ? "Each map is shifted, turned and scaled to lie over the first two axes of this one."
      : "Tick a map to lay it beside this one.";
    app.numbers = {
      off: Object.fromEntries(wanted.map((/** @type {string} */ name) => [name, made.get(name)?.off ?? null])),
    };
    app.say(sentence.textContent);
  };
  const python = () => {
    const mine = facts.q > 1 ? "subject.places.z[:, :2]" : "np.column_stack([subject.places.z, 0 * subject.places.z])",
      names = app.state.maps.map((/** @type {string} */ m) => `"${m}"`).join(", ");
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
    controls,
    view: grid,
    inspector,
    paint,
    command: () => "", // lowdim compare judges by hidden cells: other numbers than these
    python,
    close: () => made.forEach(f => f.scatter?.close()),
  };
}
