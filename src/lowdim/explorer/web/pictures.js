// What the columns form together (table/pictures.py), drawn from the cells of one row: an image, a curve or a figure.
import {svg} from "./draw.js";
import {outwardOf} from "./row_panel.js";
import {el, figures} from "./words.js";

/** @typedef {{value: number, low: number, high: number, off: number}} ShownCell in the table's order */

/** What is drawn: as found, or an image as wide as somebody says; null for nothing. @param {any} facts @param {number | null} wide */
export function formOf(facts, wide) {
  if (wide === null) return facts.form;
  if (!(wide > 0)) return null;
  const d = facts.columns.length,
    own = (/** @type {any} */ c) => [outwardOf(c, c.low), outwardOf(c, c.high)],
    ends = facts.columns.flatMap(own);
  return {
    kind: "image",
    width: wide,
    height: Math.ceil(d / wide),
    cells: Array.from({length: d}, (_, j) => j),
    low: ends.reduce((/** @type {number} */ a, /** @type {number} */ b) => Math.min(a, b)),
    high: ends.reduce((/** @type {number} */ a, /** @type {number} */ b) => Math.max(a, b)),
  };
}

/** The picture, with words for who does not see it. @param {any} facts @param {any} form @param {ShownCell[]} cells
 * @param {string} [caption] @returns {{element: any, words: string}} */
export function pictureOf(facts, form, cells, caption = "") {
  const draw = /** @type {Record<string, Function>} */ ({image, curve, figure})[form.kind],
    {element, words} = draw(facts, form, cells);
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", caption ? `${caption}: ${words}` : words);
  return {element, words};
}

/** @param {any} facts @param {any} form @param {ShownCell[]} cells */
function image(facts, form, cells) {
  const {width, height, low, high} = form,
    canvas = el("canvas", {width, height, class: "image"}),
    context = canvas.getContext("2d"),
    data = context.createImageData(width, height);
  for (let k = 0; k < width * height; k++) data.data[4 * k + 3] = 255; // pixels without a column are dark
  form.cells.forEach((/** @type {number} */ at, /** @type {number} */ j) => {
    const v = Math.round(255 * Math.min(1, Math.max(0, (cells[j].value - low) / (high - low || 1))));
    data.data.set([v, v, v, 255], 4 * at);
  });
  context.putImageData(data, 0, 0);
  const far = cells.reduce((best, c, j) => (Math.abs(c.off) > Math.abs(cells[best].off) ? j : best), 0),
    at = form.cells[far],
    lighter = cells.filter(c => c.off > 0).length;
  return {
    element: canvas,
    words: `an image of ${width} by ${height} pixels, ${Math.round((100 * lighter) / cells.length)}% of them lighter than the average; farthest from it, ${cells[far].off > 0 ? "lighter" : "darker"}, is the pixel in line ${Math.floor(at / width) + 1}, column ${(at % width) + 1}`,
  };
}

/** @param {any} facts @param {any} form @param {ShownCell[]} cells */
function curve(facts, form, cells) {
  const order = form.order,
    at = form.at,
    ends = facts.columns.flatMap((/** @type {any} */ c) => [outwardOf(c, c.low), outwardOf(c, c.high)]),
    [first, last] = [at[order[0]], at[order[order.length - 1]]];
  const [low, high] = [Math.min, Math.max].map((f, k) =>
    [...ends, ...cells.map(c => (k ? c.high : c.low))].reduce((a, b) => f(a, b)),
  );
  const x = (/** @type {number} */ v) => 60 + (530 * (v - first)) / (last - first),
    y = (/** @type {number} */ v) => 150 - (138 * (v - low)) / (high - low || 1),
    line = (/** @type {(c: ShownCell) => number} */ of) =>
      order.map((/** @type {number} */ j) => `${x(at[j]).toFixed(1)},${y(of(cells[j])).toFixed(1)}`);
  const [top, bottom] = [Math.max, Math.min].map(f => {
    const value = cells.map(c => c.value).reduce((a, b) => f(a, b));
    return cells.findIndex(c => c.value === value);
  });
  const text = (/** @type {number} */ left, /** @type {number} */ down, /** @type {string} */ anchor, /** @type {string} */ words) =>
    svg("text", {x: left, y: down, "text-anchor": anchor}, words);
  return {
    element: svg(
      "svg",
      {viewBox: "0 0 600 176", class: "curve"},
      svg("polygon", {points: [...line(c => c.low), ...line(c => c.high).reverse()].join(" "), class: "band"}),
      svg("line", {x1: 60, x2: 590, y1: 150, y2: 150, class: "zero"}),
      svg("polyline", {points: line(c => c.value).join(" "), class: "curve-line"}),
      text(54, 18, "end", figures(high, 2)),
      text(54, 150, "end", figures(low, 2)),
      text(60, 170, "start", facts.columns[order[0]].name),
      text(590, 170, "end", facts.columns[order[order.length - 1]].name),
    ),
    words: `a curve from ${facts.columns[order[0]].name} to ${facts.columns[order[order.length - 1]].name}, highest ${figures(cells[top].value, 3)} at ${facts.columns[top].name}, lowest ${figures(cells[bottom].value, 3)} at ${facts.columns[bottom].name}`,
  };
}

/** @param {any} facts @param {any} form @param {ShownCell[]} cells */
function figure(facts, form, cells) {
  const points = /** @type {[number, number][]} */ (form.points),
    joined = /** @type {[number, number][]} */ (form.lines),
    column = (/** @type {number} */ j) => facts.columns[j],
    box = [0, 1].map(k => {
      const js = points.map(p => p[k]),
        low = Math.min(...js.map(j => outwardOf(column(j), column(j).low))),
        high = Math.max(...js.map(j => outwardOf(column(j), column(j).high)));
      return [low, high];
    });
  const size = Math.max(box[0][1] - box[0][0], box[1][1] - box[1][0]) || 1,
    scale = 260 / size,
    wide = 20 + (box[0][1] - box[0][0]) * scale,
    tall = 20 + (box[1][1] - box[1][0]) * scale,
    place = (/** @type {number} */ x, /** @type {number} */ y) => [10 + (x - box[0][0]) * scale, tall - 10 - (y - box[1][0]) * scale];
  const now = points.map(([a, b]) => place(cells[a].value, cells[b].value)),
    usual = points.map(([a, b]) => place(outwardOf(column(a), facts.middle[a]), outwardOf(column(b), facts.middle[b])));
  const lines = (/** @type {number[][]} */ at, /** @type {string} */ kind) =>
    joined.map(([a, b]) =>
      svg("line", {x1: at[a][0], y1: at[a][1], x2: at[b][0], y2: at[b][1], class: kind}),
    );
  const off = now.map(([x, y], k) => Math.hypot(x - usual[k][0], y - usual[k][1]) / scale),
    far = off.indexOf(Math.max(...off)),
    reach = (/** @type {number} */ k) => Math.max(...now.map(p => p[k])) - Math.min(...now.map(p => p[k]));
  return {
    element: svg(
      "svg",
      {viewBox: `0 0 ${wide.toFixed(0)} ${tall.toFixed(0)}`, class: "figure"},
      ...lines(usual, "usual"),
      ...lines(now, "bone"),
      ...now.map(([x, y]) => svg("circle", {cx: x, cy: y, r: 3.5, class: "joint"})),
    ),
    words: `a figure of ${points.length} points, ${figures(reach(1) / scale, 2)} tall and ${figures(reach(0) / scale, 2)} wide; farthest from its average place is ${form.names[far]}, ${figures(off[far], 2)} away`,
  };
}
