// The card of a row worked out in the page, as judge/rows/row_card.py does: for a report, which has no Python behind it.
import {inwardOf, outwardOf} from "./row_panel.js";
import {expectation, figures, observed, pValue} from "./words.js";

/** @typedef {import("./row_panel.js").Card} Card */
/** @typedef {import("./row_panel.js").Cell} Cell */
/** @typedef {import("./row_panel.js").Column} Column */
/** @typedef {import("./posterior.js").LinearGaussian} LinearGaussian */
/** @typedef {import("./laws.js").RowLaw} RowLaw */
/** @typedef {{fewCells: number, oneByOne: number, oddRate: number, half: number, logFigures: number}} Rules fewCells: that a
 *   sentence names to hide; oneByOne: that are hidden singly; half: standard deviations of half a 90% band; logFigures:
 *   that a number keeps through its logarithm and back */

/** The row with cells hidden and edited. @param {Column[]} columns @param {Float64Array} row @param {Set<number>} hidden
 * @param {Map<number, number>} edited in the table's units */
function touchedRow(columns, row, hidden, edited) {
  const x = Float64Array.from(row);
  edited.forEach((value, j) => {
    x[j] = inwardOf(columns[j], value);
  });
  hidden.forEach(j => {
    x[j] = NaN;
  });
  return x;
}

/** @param {LinearGaussian} model @param {RowLaw} law @param {Rules} rules @param {Column[]} columns @param {string} name
 * @param {Float64Array} row @param {Set<number>} hidden @param {Map<number, number>} edited @returns {Card} */
export function rowCard(model, law, rules, columns, name, row, hidden, edited) {
  const x = touchedRow(columns, row, hidden, edited),
    judged = model.surprise(law.counted(x), law),
    {seen, rank: dof, D2, T2, Q} = judged,
    p = law.rowP(judged),
    found = law.judges ? ordinary(model, law, rules, x) : {hide: [], p: 1},
    hide = found.hide.map(j => columns[j].name),
    place = model.place(x),
    called = asTouched(name, columns, hidden, edited);
  const cells = columns.map((column, j) => ({
    ...cellOf(rules, law, j, column, x[j], judged),
    gap: Number.isNaN(row[j]),
  }));
  return {
    name,
    cells,
    seen,
    dof,
    D2,
    p,
    T2,
    hide,
    pD2: law.p(D2, seen),
    pT2: law.p(T2, dof),
    Q: seen > dof ? Q : null,
    pQ: seen > dof ? law.p(Q, seen - dof) : null,
    sentence: law.judges ? sentenceOf(rules, called, cells, hide, p, found.p) : unjudged(called, cells),
    z: Array.from(place.z),
    cov: Array.from(place.cov),
  };
}

/** @param {Rules} rules @param {RowLaw} law @param {number} j @param {Column} column @param {number} x
 * @param {import("./posterior.js").Judged} judged */
function cellOf({half, logFigures}, law, j, column, x, judged) {
  const least = column.least ?? -Infinity,
    most = column.most ?? Infinity,
    within = (/** @type {number} */ v) => Math.min(Math.max(v, least), most),
    own = (/** @type {number} */ y) => within(outwardOf(column, y)),
    gap = Number.isNaN(x),
    sd = judged.sd[j],
    [low, expected, high] = [-half, 0, half].map(k => law.uncounted(j, judged.expected[j] + k * sd)),
    far = outwardOf(column, expected),
    middle = column.offset === null ? expected : inwardOf(column, within(far));
  return {
    column: column.name,
    value: gap ? null : column.offset === null ? x : Number(outwardOf(column, x).toPrecision(logFigures)),
    expected: within(far),
    surprise: gap ? null : judged.surprise[j],
    sd: column.offset === null ? sd : (own(middle + sd) - own(middle - sd)) / 2,
    limit: Number(far > most) - Number(far < least),
    at: gap ? null : x,
    says: /** @type {[number, number, number]} */ ([low, expected, high]),
    range: law.moves(j) || column.offset !== null ? /** @type {[number, number]} */ ([own(low), own(high)]) : null,
  };
}

/** Cells hidden one after the other, the least likely first, until the row is ordinary.
 * @param {LinearGaussian} model @param {RowLaw} law @param {Rules} rules @param {Float64Array} row */
function ordinary(model, law, {oddRate, oneByOne}, row) {
  const x = Float64Array.from(row),
    hide = /** @type {number[]} */ ([]);
  for (;;) {
    const judged = model.surprise(law.counted(x), law),
      p = law.rowP(judged);
    if (p >= oddRate || !judged.seen) return {hide, p};
    const blame = law.doubtful(judged),
      order = Array.from(x.keys())
        .filter(j => !Number.isNaN(x[j]))
        .sort((a, b) => blame[b] - blame[a] || a - b);
    const more = hide.length < oneByOne ? 1 : Math.min(Math.floor(hide.length / 3), judged.seen);
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

/** @param {Cell} cell */
function disagrees(cell) {
  const [low, high] = (cell.range ?? []).map(end => figures(end, 2)),
    limit = cell.limit;
  const doubt = !cell.range
    ? `sd ${figures(cell.sd, 2)}`
    : limit
      ? `90% ${limit > 0 ? `above ${low}` : `below ${high}`}`
      : `90% between ${low} and ${high}`;
  return `${cell.column} is ${observed(cell.value ?? 0, cell.sd)}; the rest of the row says ${expectation(cell)}, ${doubt}`;
}

/** Of a row of a table to whose bulk no law fits. @param {string} name @param {Cell[]} cells */
function unjudged(name, cells) {
  const size = (/** @type {Cell} */ c) => Math.abs(c.surprise ?? 0),
    seen = cells.filter(c => c.surprise !== null),
    sentence = `Row ${name} is not judged: no distribution fits most of the rows.`;
  if (!seen.length) return sentence;
  return `${sentence} Its farthest cell: ${disagrees(seen.reduce((a, b) => (size(b) > size(a) ? b : a)))}.`;
}

/** @param {Rules} rules @param {string} name @param {Cell[]} cells @param {string[]} hide @param {number} p
 * @param {number} after */
function sentenceOf(rules, name, cells, hide, p, after) {
  if (!hide.length) return `Row ${name} is ordinary (p ${pValue(p)}).`;
  const worst = /** @type {Cell} */ (cells.find(c => c.column === hide[0]));
  const says = disagrees(worst),
    odd = `Row ${name} is unlike what the model expects (p ${pValue(p)}): `,
    seen = cells.filter(c => c.value !== null).length;
  if (hide.length > rules.fewCells || (hide.length === seen && seen > 1)) {
    const many = hide.length === seen ? `all ${seen}` : `${hide.length} of ${seen}`;
    return `${odd}many cells disagree, most of all ${says}. No few make it odd: ${many} would have to be hidden.`;
  }
  const which = hide.length === 1 ? "that cell" : `these ${hide.length} cells: ${hide.join(", ")}`;
  return `${odd}${says}. Hide ${which}, and the row is ordinary (p ${pValue(after)}).`;
}
