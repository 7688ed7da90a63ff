// One row: every cell beside what the others say of it. Hide or edit a cell, and all of it follows.
import {brief, counted, el, expectation, figures, named, observed, percent, pValue, signed} from "./words.js";

/** @typedef {import("./posterior.js").Model} Model */
/** @typedef {{name: string, offset: number | null, low: number, high: number, least: number | null,
 *   most: number | null, answers?: string[]}} Column answers: what its cells can be called; none of numbers */
/** @typedef {{column: string, value: number | null, expected: number, sd: number, low: number, high: number,
 *   surprise: number | null, at: number | null, says: [number, number, number], limit: number, word?: string,
 *   chance?: number | null, likeliest?: string, most?: number}} Cell */
/** @typedef {{name: string, cells: Cell[], seen: number, D2: number | null, p: number | null, pD2: number | null,
 *   T2: number | null, pT2: number | null, dof: number, Q: number | null, pQ: number | null, hide: string[], pAfter: number | null,
 *   sentence: string, z: number[], cov: number[], logDensity: number | null}} Card */

const FEW_CELLS = 5; // that a sentence names to hide
const ONE_BY_ONE = 10; // cells of a row that are hidden singly to make it ordinary
const ODD_RATE = 0.05;
export const HALF_90 = 1.6448536269514722; // of a band that holds 90 %
const LOG_FIGURES = 13; // that a number keeps through its logarithm and back
const SHOWN = 40; // cells that are listed at first

/** From the scale a model takes to the table's own unit. @param {Column} column @param {number} y */
export function outwardOf(column, y) {
  if (column.offset === null) return y;
  const own = Math.exp(Math.min(y, 700)) - column.offset;
  return Math.abs(own) < 1e-9 * column.offset ? 0 : own;
}

/** And back; NaN where there is no such number. @param {Column} column @param {number} x */
export const inwardOf = (column, x) => (column.offset === null ? x : Math.log(x + column.offset));

/** The row with cells hidden and edited. @param {Column[]} columns @param {Float64Array} row @param {Set<number>} hidden
 * @param {Map<number, number>} edited in the table's units */
export function touchedRow(columns, row, hidden, edited) {
  const x = Float64Array.from(row);
  edited.forEach((value, j) => {
    x[j] = inwardOf(columns[j], value);
  });
  hidden.forEach(j => {
    x[j] = NaN;
  });
  return x;
}

/** @param {Model} model @param {import("./laws.js").RowLaw | null} law @param {Column[]} columns @param {string} name
 * @param {Float64Array} row @param {Set<number>} hidden @param {Map<number, number>} edited @returns {Card} */
export function rowCard(model, law, columns, name, row, hidden, edited) {
  const x = touchedRow(columns, row, hidden, edited),
    judged = model.surprise(law ? law.counted(x) : x),
    place = model.place(x);
  const cells = columns.map((column, j) => cellOf(column, x[j], judged.expected[j], judged.sd[j], judged.surprise[j]));
  const {seen, rank: dof, D2, T2} = judged,
    off = D2 !== null && seen > dof;
  const p = law && D2 !== null ? law.rowP(judged) : null;
  const found = law && D2 !== null ? ordinary(model, law, x) : {hide: [], p: null};
  const hide = found.hide.map(j => columns[j].name);
  return {
    name,
    cells,
    seen,
    dof,
    D2,
    p,
    T2,
    hide,
    pAfter: found.p,
    pD2: law && D2 !== null ? law.p(D2, seen) : null,
    pT2: law && T2 !== null ? law.p(T2, dof) : null,
    Q: off ? judged.Q : null,
    pQ: off && law ? law.p(judged.Q ?? 0, seen - dof) : null,
    sentence: sentenceOf(asTouched(name, columns, hidden, edited), cells, hide, p, found.p, place.logDensity),
    z: Array.from(place.z),
    cov: Array.from(place.cov),
    logDensity: place.logDensity,
  };
}

/** @param {Column} column @param {number} x @param {number} expected @param {number} sd @param {number} surprise @returns {Cell} */
function cellOf(column, x, expected, sd, surprise) {
  const least = column.least ?? -Infinity,
    most = column.most ?? Infinity,
    within = (/** @type {number} */ v) => Math.min(Math.max(v, least), most),
    own = (/** @type {number} */ y) => within(outwardOf(column, y)),
    gap = Number.isNaN(x),
    far = outwardOf(column, expected),
    middle = column.offset === null ? expected : inwardOf(column, within(far));
  return {
    column: column.name,
    value: gap ? null : column.offset === null ? x : Number(outwardOf(column, x).toPrecision(LOG_FIGURES)),
    expected: within(far),
    surprise: gap ? null : surprise,
    sd: column.offset === null ? sd : (own(middle + sd) - own(middle - sd)) / 2,
    low: own(middle - HALF_90 * sd),
    high: own(middle + HALF_90 * sd),
    limit: Number(far > most) - Number(far < least),
    at: gap ? null : x,
    says: [expected - HALF_90 * sd, expected, expected + HALF_90 * sd],
  };
}

/** Cells hidden one after the other, the least likely first, until the row is ordinary.
 * @param {Model} model @param {import("./laws.js").RowLaw} law @param {Float64Array} row */
export function ordinary(model, law, row) {
  const x = Float64Array.from(row),
    hide = /** @type {number[]} */ ([]);
  for (;;) {
    const judged = model.surprise(law.counted(x)),
      p = law.rowP(judged);
    if (p >= ODD_RATE || !judged.seen) return {hide, p};
    const blame = law.doubtful(judged),
      order = Array.from(x.keys())
        .filter(j => !Number.isNaN(x[j]))
        .sort((a, b) => blame[b] - blame[a] || a - b);
    const more = hide.length < ONE_BY_ONE ? 1 : Math.min(Math.floor(hide.length / 3), judged.seen);
    order.slice(0, more).forEach(j => {
      hide.push(j);
      x[j] = NaN;
    });
  }
}

/** '8 without c3 and with c1 at 2.5' @param {string} name @param {Column[]} columns @param {Set<number>} hidden
 * @param {Map<number, number>} edited */
function asTouched(name, columns, hidden, edited) {
  const without = hidden.size ? ` without ${[...hidden].map(j => columns[j].name).join(", ")}` : "";
  const changes = [...edited]
    .filter(([j]) => !hidden.has(j))
    .map(([j, value]) => `${columns[j].name} at ${observed(value, 0)}`);
  return `${name}${without}${without && changes.length ? " and" : ""}${changes.length ? ` with ${changes.join(", ")}` : ""}`;
}

/** @param {string} name @param {Cell[]} cells @param {string[]} hide @param {number | null} p @param {number | null} after
 * @param {number | null} logDensity */
function sentenceOf(name, cells, hide, p, after, logDensity) {
  if (p === null) return `Row ${name}: log density ${logDensity === null ? "not known" : figures(logDensity, 4)}.`;
  if (!hide.length) return `Row ${name} is ordinary (p ${pValue(p)}).`;
  const worst = /** @type {Cell} */ (cells.find(c => c.column === hide[0]));
  const says =
    `${worst.column} is ${observed(worst.value ?? 0, worst.sd)}; the rest of the row says ` +
    `${expectation(worst)}, sd ${figures(worst.sd, 2)}`;
  const odd = `Row ${name} is unlike what the model expects (p ${pValue(p)}): `,
    seen = cells.filter(c => c.value !== null).length;
  if (hide.length > FEW_CELLS || (hide.length === seen && seen > 1)) {
    const many = hide.length === seen ? `all ${seen}` : `${hide.length} of ${seen}`;
    return `${odd}many cells disagree, most of all ${says}. No few make it odd: ${many} would have to be hidden.`;
  }
  const which = hide.length === 1 ? "that cell" : `these ${hide.length} cells: ${hide.join(", ")}`;
  return `${odd}${says}. Hide ${which}, and the row is ordinary (p ${pValue(after ?? 0)}).`;
}

/** 'total D2 53.4 on 9 cells, p 2e-8; ...' @param {Card} card */
export function lawWords(card) {
  if (card.D2 === null || card.p === null) return `${counted(card.seen, "cell")} seen`;
  const off =
    card.Q === null
      ? "Q is not defined: no more seen cells than dimensions"
      : `off map Q ${card.Q.toFixed(1)} on ${card.seen - card.dof}, p ${pValue(card.pQ ?? 1)}`;
  return (
    `total D2 ${card.D2.toFixed(1)} on ${counted(card.seen, "cell")}, p ${pValue(card.pD2 ?? 1)}; ` +
    `within map T2 ${(card.T2 ?? 0).toFixed(1)} on ${card.dof}, p ${pValue(card.pT2 ?? 1)}; ${off}`
  );
}

/** 'axis 1 -2.1 ± 0.3, axis 2 ...' @param {Card} card @param {number} [most] */
export function placeWords(card, most = 3) {
  const q = card.z.length,
    sd = (/** @type {number} */ k) => Math.sqrt(Math.max(card.cov[k * q + k], 0));
  return card.z
    .slice(0, most)
    .map((z, k) => `axis ${k + 1} ${signed(z, 2)} ± ${figures(sd(k), 2)}`)
    .join(", ");
}

/** The cells of a row as a table with a button and a field each; `changed(hidden, edited)` is told of every touch.
 * @param {Column[]} columns @param {(hidden: Set<number>, edited: Map<number, number>, said: string) => void} changed */
export function rowPanel(columns, changed) {
  const state = {hidden: new Set(), edited: new Map(), row: new Float64Array(0), shown: SHOWN, key: ""};
  const body = el("tbody"),
    more = el(
      "button",
      {
        type: "button",
        hidden: true,
        onclick: () => {
          state.shown = columns.length;
          list();
          paint();
        },
      },
      "Show all cells",
    );
  const worded = columns.some(c => c.answers?.length),
    heads = [
      ["column", ""],
      ["", ""],
      ["value", "n"],
      ...(worded ? [["its chance", "n"]] : []),
      [worded ? "the rest says" : "the rest says ± one sd", "n"],
      ["surprise", "n"],
      [worded ? "bar: chance (mark: number; band: 90%)" : "mark: value; band: 90%", "wide"],
    ];
  const table = el(
    "table",
    {class: "cells"},
    el("caption", {class: "unseen"}, "Every cell of the row, and what the rest of the row says of it"),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ...heads.map(([text, kind]) =>
          el("th", {scope: "col", class: kind}, text || el("span", {class: "unseen"}, "hide or restore")),
        ),
      ),
    ),
    body,
  );
  const element = el("div", {class: "row-panel"}, el("div", {class: "scroll"}, table), more);
  /** @type {Map<number, any>} */ let lines = new Map();
  /** @type {Card | null} */ let card = null;

  const touch = (/** @type {string} */ said) => changed(new Set(state.hidden), new Map(state.edited), said);
  const toggle = (/** @type {number} */ j) => {
    const back = state.hidden.has(j) || state.edited.has(j);
    state.hidden.delete(j);
    state.edited.delete(j);
    if (!back) state.hidden.add(j);
    touch(`${columns[j].name} ${back ? "restored" : "hidden"}.`);
  };
  const edit = (/** @type {number} */ j, /** @type {any} */ field) => {
    const text = field.value.trim(),
      value = Number(text),
      inside = inwardOf(columns[j], value);
    if (text === "") {
      if (!Number.isNaN(state.row[j]) || state.edited.has(j)) {
        state.edited.delete(j);
        state.hidden.add(j);
        touch(`${columns[j].name} hidden.`);
      }
      return;
    }
    if (columns[j].answers?.length) {
      if (text === card?.cells[j].word) return;
      state.hidden.delete(j);
      state.edited.set(j, text);
      return touch(`${columns[j].name} set to ${text}.`);
    }
    if (!Number.isFinite(value) || !Number.isFinite(inside)) {
      field.value = "";
      return touch(`'${text.slice(0, 40)}' is no number that ${columns[j].name} can have: nothing was changed.`);
    }
    if (value === card?.cells[j].value) return;
    state.hidden.delete(j);
    state.edited.set(j, value);
    touch(`${columns[j].name} set to ${figures(value, 6)}.`);
  };
  const line = (/** @type {number} */ j) => {
    const {name, answers = []} = columns[j],
      common = {"aria-label": `value of ${name}`, onchange: (/** @type {any} */ event) => edit(j, event.target)},
      field = answers.length
        ? el("select", common, ...["", ...answers].map(word => el("option", {value: word}, word)))
        : el("input", {type: "text", inputMode: "decimal", autocomplete: "off", ...common});
    const button = el("button", {type: "button", onclick: () => toggle(j)});
    const [band, mark, chance, says, size] = [
      el("span", {class: "band"}),
      el("span", {class: "mark"}),
      el("td", {class: "n chance"}),
      el("td", {class: "n says"}),
      el("td", {class: "n size"}),
    ];
    const row = el(
      "tr",
      {},
      el("th", {scope: "row"}, named(name)),
      el("td", {class: "act"}, button),
      el("td", {class: "n value"}, field),
      worded && chance,
      says,
      size,
      el("td", {class: "wide"}, el("div", {class: "track", "aria-hidden": "true"}, band, mark)),
    );
    return {row, field, button, band, mark, chance, says, size};
  };
  const list = () => {
    if (!card) return;
    const cells = card.cells,
      touched = (/** @type {number} */ j) => (state.hidden.has(j) || state.edited.has(j) ? Infinity : 0);
    const weight = (/** @type {number} */ j) => touched(j) || Math.abs(cells[j].surprise ?? 0);
    const order = [...columns.keys()].sort((a, b) => (weight(b) === weight(a) ? a - b : weight(b) - weight(a)));
    lines = new Map(order.slice(0, state.shown).map(j => [j, line(j)]));
    body.replaceChildren(...[...lines.values()].map(l => l.row));
    more.hidden = columns.length <= state.shown;
    more.textContent = `Show all ${columns.length.toLocaleString("en")} cells`;
  };
  const paint = () =>
    lines.forEach((l, j) => {
      if (!card) return;
      const cell = card.cells[j],
        hidden = state.hidden.has(j),
        changed = state.edited.has(j),
        name = columns[j].name;
      const [low, , high] = cell.says,
        ends = [columns[j].low, columns[j].high, low, high, cell.at ?? low];
      const from = Math.min(...ends),
        width = Math.max(...ends) - from || 1,
        share = (/** @type {number} */ v) => `${(100 * (v - from)) / width}%`;
      if (cell.likeliest !== undefined) {
        l.field.value = cell.word;
        l.field.firstChild.textContent = hidden ? "hidden" : "gap";
      } else if (document.activeElement !== l.field || l.field.value !== "" || !hidden)
        l.field.value = cell.value === null ? "" : observed(cell.value, cell.sd);
      l.field.placeholder = hidden ? "hidden" : "gap";
      l.chance.textContent = typeof cell.chance === "number" ? percent(cell.chance) : "";
      l.says.textContent =
        cell.likeliest === undefined
          ? `${expectation(cell)} ± ${figures(cell.sd, 2)}`
          : `${brief(cell.likeliest, 12)} (${percent(cell.most ?? 0)})`;
      const far = cell.surprise !== null && Math.abs(cell.surprise) > 3;
      l.size.textContent = cell.surprise === null ? "" : `${signed(cell.surprise)} sd${far ? " !" : ""}`;
      l.row.className = [
        far ? "far" : "",
        hidden ? "hidden" : "",
        changed ? "edited" : "",
        cell.value === null ? "gap" : "",
      ]
        .join(" ")
        .trim();
      l.band.style.left = cell.likeliest === undefined ? share(low) : "0";
      l.band.style.width = `${100 * (cell.likeliest === undefined ? (high - low) / width : (cell.chance ?? 0))}%`;
      l.mark.style.left = share(cell.at ?? low);
      l.mark.hidden = cell.at === null;
      const word = hidden || changed ? "Restore" : "Hide",
        idle = Number.isNaN(state.row[j]) && !changed;
      l.button.textContent = word;
      l.button.hidden = idle;
      l.button.setAttribute("aria-label", `${word} ${name}`);
    });

  /** @param {string} key changes with the row, so that cells are listed anew @param {Float64Array} row @param {Card} next
   * @param {Set<number>} hidden @param {Map<number, number>} edited */
  const show = (key, row, next, hidden, edited) => {
    card = next;
    Object.assign(state, {row, hidden: new Set(hidden), edited: new Map(edited)});
    if (state.key !== key) {
      Object.assign(state, {key, shown: SHOWN});
      list();
    }
    paint();
  };
  return {element, show, toggle, focus: (/** @type {number} */ j) => lines.get(j)?.button.focus()};
}
