// What sets some rows apart from the others: the numbers of `lowdim explain --group` (judge/rows/contrast.py).
import {tTwoSided} from "./laws.js";
import {signed} from "./words.js";

const RATE = 0.05,
  NAMED = 4,
  LEAST_CELLS = 2;
/** @typedef {{name: string, group: number, others: number, difference: number, p: number | null, low: number | null,
 *   high: number | null, differs: boolean}} Difference */

/** Mean of the group and of the others, their difference in the others' spreads, Student's p, and a 95 % interval.
 * @param {ArrayLike<number>} values @param {Uint8Array} inside */
export function compareMeans(values, inside) {
  const count = [0, 0],
    sum = [0, 0],
    mean = [0, 0],
    square = [0, 0];
  for (let i = 0; i < values.length; i++)
    if (!Number.isNaN(values[i])) {
      count[inside[i]]++;
      sum[inside[i]] += values[i];
    }
  for (const k of [0, 1]) mean[k] = count[k] ? sum[k] / count[k] : 0;
  for (let i = 0; i < values.length; i++)
    if (!Number.isNaN(values[i])) square[inside[i]] += (values[i] - mean[inside[i]]) ** 2;
  const [others, group] = mean,
    [m, n] = count,
    none = {group, others, difference: 0, p: null, low: null, high: null};
  if (!n || !m) return none;
  const gap = group - others,
    spread = m > 1 ? Math.sqrt(square[0] / (m - 1)) : 0,
    difference = spread > 0 ? gap / spread : 0;
  if (n < LEAST_CELLS || m < LEAST_CELLS) return {...none, difference};
  const dof = n + m - 2,
    pooled = (square[0] + square[1]) / dof;
  if (pooled === 0) return {...none, difference, p: gap === 0 ? 1 : 0};
  const error = Math.sqrt(pooled * (1 / n + 1 / m)),
    half = spread > 0 ? (tHalfWidth(dof) * error) / spread : 0;
  return {group, others, difference, p: tTwoSided(dof, gap / error), low: difference - half, high: difference + half};
}

/** |t| that 5 % exceed, by halving. @param {number} dof */
export function tHalfWidth(dof) {
  let low = 0,
    high = 100;
  for (let k = 0; k < 60; k++) {
    const middle = (low + high) / 2;
    tTwoSided(dof, middle) > 0.05 ? (low = middle) : (high = middle);
  }
  return low;
}

/** Benjamini and Hochberg's step-up rule. @param {(number | null)[]} ps @returns {boolean[]} */
export function falseDiscovery(ps) {
  const order = ps.map(p => p ?? 1).sort((a, b) => a - b),
    n = order.length;
  let limit = -1;
  order.forEach((p, k) => {
    if (p <= (RATE * (k + 1)) / n) limit = p;
  });
  return ps.map(p => p !== null && p <= limit);
}

/** @param {Difference[]} axes @param {Difference[]} columns in the table's order; the surest difference comes first
 * @param {number} many @returns {{axes: Difference[], columns: Difference[], sentence: string}} */
export function groupCard(axes, columns, many) {
  const all = [...axes, ...columns],
    differs = falseDiscovery(all.map(a => a.p));
  all.forEach((a, k) => {
    a.differs = differs[k];
  });
  const sorted = [...columns].sort(
    (a, b) => (a.p ?? 1) - (b.p ?? 1) || Math.abs(b.difference) - Math.abs(a.difference),
  );
  const which = many === 1 ? "this row" : `these ${many.toLocaleString("en")} rows`,
    found = sorted.filter(a => a.differs),
    first = found.slice(0, NAMED);
  if (!found.length)
    return {axes, columns: sorted, sentence: `No column sets ${which} apart at a 5% false discovery rate.`};
  const words = first.map(a => `${a.name} is ${a.difference > 0 ? "higher" : "lower"} (${signed(a.difference)} sd)`);
  const more = found.length - first.length;
  return {
    axes,
    columns: sorted,
    sentence: `What sets ${which} apart: ${words.join(", ")}${more ? ` and ${more} more` : ""}.`,
  };
}
