// One row: every cell beside what the others say of it. Hide or edit a cell, and whoever made the card is told.
import {brief, counted, el, expectation, figures, named, observed, percent, pValue, signed} from "./words.js";

/** @typedef {{name: string, offset: number | null, low: number, high: number, least: number | null,
 *   most: number | null, answers: string[]}} Column answers: what its cells can be called; none of numbers */
/** @typedef {{column: string, value: number | null, expected: number, sd: number,
 *   surprise: number | null, at: number | null, says: [number, number, number], range: [number, number] | null, limit: number, gap: boolean, word?: string,
 *   chance?: number | null, likeliest?: string, most?: number}} Cell at, says: a number and its band as the model takes it; gap: in the table */
/** @typedef {{name: string, cells: Cell[], seen: number, D2: number | null, p: number | null, pD2: number | null,
 *   T2: number | null, pT2: number | null, dof: number, Q: number | null, pQ: number | null, hide: string[],
 *   sentence: string, z: number[], cov: number[]}} Card */

const SHOWN = 40; // cells that are listed at first

/** From the scale a model takes to the table's own unit. @param {Column} column @param {number} y */
export function outwardOf(column, y) {
  if (column.offset === null) return y;
  const own = Math.exp(Math.min(y, 700)) - column.offset;
  return Math.abs(own) < 1e-9 * column.offset ? 0 : own;
}

/** What the rest of a row says of a number, and how far off it may be: 90% of a logarithm, a level or a long tail, as no
 * ± is true of it. @param {Cell} cell */
function saysWords(cell) {
  const [low, high] = (cell.range ?? []).map(end => figures(end, 2)),
    limit = cell.limit;
  const around = !cell.range
    ? `± ${figures(cell.sd, 2)}`
    : limit
      ? `(${limit > 0 ? `from ${low}` : `to ${high}`})`
      : `(${low} to ${high})`;
  return `${expectation(cell)} ${around}`;
}

/** And back; NaN where there is no such number. @param {Column} column @param {number} x */
export const inwardOf = (column, x) => (column.offset === null ? x : Math.log(x + column.offset));

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
  const state = {hidden: new Set(), edited: new Map(), shown: SHOWN, key: ""};
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
  const worded = columns.some(c => c.answers.length),
    heads = [
      ["column", ""],
      ["", ""],
      ["value", "n"],
      ...(worded ? [["its chance", "n"]] : []),
      [worded || columns.some(c => c.offset !== null) ? "the rest says" : "the rest says ± one sd", "n"],
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
      if (!card?.cells[j].gap || state.edited.has(j)) {
        state.edited.delete(j);
        state.hidden.add(j);
        touch(`${columns[j].name} hidden.`);
      }
      return;
    }
    if (columns[j].answers.length) {
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
          ? saysWords(cell)
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
        idle = cell.gap && !changed;
      l.button.textContent = word;
      l.button.hidden = idle;
      l.button.setAttribute("aria-label", `${word} ${name}`);
    });

  /** @param {string} key changes with the row, so that cells are listed anew @param {Card} next
   * @param {Set<number>} hidden @param {Map<number, number>} edited */
  const show = (key, next, hidden, edited) => {
    card = next;
    Object.assign(state, {hidden: new Set(hidden), edited: new Map(edited)});
    if (state.key !== key) {
      Object.assign(state, {key, shown: SHOWN});
      list();
    }
    paint();
  };
  return {element, show, toggle, focus: (/** @type {number} */ j) => lines.get(j)?.button.focus()};
}
