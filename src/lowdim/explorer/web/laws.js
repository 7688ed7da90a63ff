// Tail probabilities of a row's distances and cells: chi-square, F and Student's t, by the incomplete gamma and beta
// functions; for the row card of a report. The constants of the law come from Python (report/touch.py).
// Reference: Abramowitz and Stegun (1964) 6.5, 26.5; continued fractions by Lentz's method.

const TINY = 1e-300,
  CLOSE = 1e-16,
  MOST_TERMS = 2000;
const LOG_ROOT_TWO_PI = 0.91893853320467274178;

/** log Gamma(x), x > 0. @param {number} x @returns {number} */
export function logGamma(x) {
  if (x >= 12) {
    // Stirling's series: the terms fall below 1e-17
    const y = 1 / (x * x);
    return (
      (x - 0.5) * Math.log(x) -
      x +
      LOG_ROOT_TWO_PI +
      (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - (y * 691) / 360360))))) / x
    );
  }
  return logGamma(x + 1) - Math.log(x);
}

/** log B(a, b). @param {number} a @param {number} b @returns {number} */
const logBeta = (a, b) => logGamma(a) + logGamma(b) - logGamma(a + b);

/** Upper regularised incomplete gamma Q(a, x). @param {number} a @param {number} x @returns {number} */
export function gammaUpper(a, x) {
  if (!(x > 0)) return 1;
  const front = Math.exp(a * Math.log(x) - x - logGamma(a));
  if (x < a + 1) {
    let term = 1 / a,
      sum = term;
    for (let n = 1; n < MOST_TERMS && term > sum * CLOSE; n++) sum += term *= x / (a + n);
    return 1 - front * sum;
  }
  let b = x + 1 - a,
    c = 1 / TINY,
    d = 1 / b,
    h = d;
  for (let n = 1; n < MOST_TERMS; n++) {
    const step = -n * (n - a);
    b += 2;
    d = 1 / guarded(step * d + b);
    c = guarded(b + step / c);
    h *= d * c;
    if (Math.abs(d * c - 1) < CLOSE) break;
  }
  return front * h;
}

/** @param {number} x */
const guarded = x => (Math.abs(x) < TINY ? TINY : x);

/** Regularised incomplete beta I_x(a, b), with y = 1 - x. @param {number} a @param {number} b @param {number} x
 * @param {number} y @returns {number} */
export function betaLower(a, b, x, y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - betaLower(b, a, y, x);
  const front = Math.exp(a * Math.log(x) + b * Math.log(y) - logBeta(a, b)) / a;
  let c = 1,
    d = 1 / guarded(1 - ((a + b) * x) / (a + 1)),
    h = d;
  for (let m = 1; m < MOST_TERMS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guarded(1 + even * d);
    c = guarded(1 + even / c);
    h *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guarded(1 + odd * d);
    c = guarded(1 + odd / c);
    h *= d * c;
    if (Math.abs(d * c - 1) < CLOSE) break;
  }
  return front * h;
}

/** P(chi2(k) > x). @param {number} k @param {number} x */
export const chi2Upper = (k, x) => gammaUpper(k / 2, x / 2);

/** P(F(m, n) > x). @param {number} m @param {number} n @param {number} x */
export const fUpper = (m, n, x) => (x <= 0 ? 1 : betaLower(n / 2, m / 2, n / (n + m * x), (m * x) / (n + m * x)));

/** P(|t(n)| > |x|). @param {number} n @param {number} x */
export const tTwoSided = (n, x) => betaLower(n / 2, 0.5, n / (n + x * x), (x * x) / (n + x * x));

/** @typedef {{surprise: Float64Array, seen: number, kept: boolean[], D2: number, cellD2: number}} Far by what judges cells:
 * cellD2, of the kept ones, beside which all are looked at */

/** The law of a squared distance on k cells, D2 / (k scale) ~ F(k, dof) and no rarer than F(k, far_dof) of D2 / (k far_scale),
 * and of each column's cells given the others. */
export class RowLaw {
  /** @param {{scale: number, dof: number, far_scale: number, far_dof: number, held: number, gaussian: number, impossible: number,
   *   judges: boolean, cells?: {scale: number[], dof: number[], cut: (number | null)[], counts: [number, number[], number[]][], judge?: {scale: number, dof: number}}}} law held: the share of a row's
   *   cells that may contradict it; impossible: p of a cell below which another's says no more; judges: whether
   *   it fits the bulk of the rows at all */
  constructor({scale, dof, far_scale, far_dof, held, gaussian, impossible, judges, cells}) {
    this.scale = scale;
    this.dof = dof;
    this.farScale = far_scale;
    this.farDof = far_dof;
    this.held = held;
    this.cut = (cells?.cut ?? []).map(far => far ?? Infinity);
    this.gaussian = gaussian;
    this.impossible = impossible;
    this.judges = judges;
    this.cells = cells ?? null;
    this.ofCells = cells?.judge ?? {scale, dof};
  }

  /** Upper tail; without cells it is 1. @param {number} D2 @param {number} k @returns {number} */
  p(D2, k) {
    if (k <= 0) return 1;
    const x = Math.max(D2, 0) / this.scale,
      p = this.dof >= this.gaussian ? chi2Upper(k, x) : fUpper(k, this.dof, x / k);
    return this.farScale > 0 ? Math.max(p, fUpper(k, this.farDof, Math.max(D2, 0) / (k * this.farScale))) : p;
  }

  /** The row with each level where it counts as being. @param {Float64Array} row */
  counted(row) {
    if (!this.cells) return row;
    const x = Float64Array.from(row);
    for (const [j, values, places] of this.cells.counts) x[j] = interpolated(row[j], values, places);
    return x;
  }

  /** The value of column j that counts as being at y. @param {number} j @param {number} y */
  uncounted(j, y) {
    const found = this.cells?.counts.find(([k]) => k === j);
    return found ? interpolated(y, found[2], found[1]) : y;
  }

  /** Whether values of column j count as being elsewhere: levels, and long tails. @param {number} j */
  moves(j) {
    return Boolean(this.cells?.counts.some(([k]) => k === j));
  }

  /** The p of a row: of its distance or of its least likely cell, each counted as often as was looked.
   * @param {Far} judged @returns {number} */
  rowP({seen, D2, ...judged}) {
    const far = this.p(D2, seen);
    if (!this.cells) return far;
    const p = judged.surprise.map((s, j) => this.cellP(s, j, judged));
    return Math.min(1, 2 * Math.min(far, Math.max(seen, 1) * Math.min(...p)));
  }

  /** How much each cell is to blame, the least likely before all others, then by size. @param {Far} judged */
  doubtful(judged) {
    const size = judged.surprise.map(s => (Number.isNaN(s) ? -1 : Math.abs(s)));
    if (!this.cells || !this.judges) return size;
    const p = judged.surprise.map((s, j) => (size[j] < 0 ? 2 : this.cellP(s, j, judged))),
      least = Math.max(Math.min(...p), this.impossible);
    return size.map((s, j) => (p[j] <= least ? s + 1 + Math.max(...size) : s));
  }

  /** p of one cell given the kept others of its row; 1 at a gap. @param {number} surprise @param {number} j
   * @param {{kept: boolean[], cellD2: number}} judged @returns {number} */
  cellP(surprise, j, {kept, cellD2}) {
    const dof = this.cells?.dof[j] ?? 0,
      of = this.ofCells,
      more = of.dof + Math.max(kept.filter(Boolean).length, 1) - 1;
    if (Number.isNaN(surprise) || !(dof > 0)) return 1;
    const s2 = surprise ** 2 / of.scale,
      rest = Math.max(cellD2 / of.scale - (kept[j] ? s2 : 0), 0);
    return tTwoSided(Math.min(dof, more), Math.sqrt((s2 * more) / (of.dof + rest)) / (this.cells?.scale[j] ?? 1));
  }
}

/** On the lines between places; beyond them, so much farther. @param {number} x @param {number[]} values
 * @param {number[]} places */
function interpolated(x, values, places) {
  const last = values.length - 1;
  if (Number.isNaN(x)) return x;
  if (x <= values[0]) return places[0] + x - values[0];
  if (x >= values[last]) return places[last] + x - values[last];
  const k = values.findIndex(v => v > x) - 1;
  return places[k] + ((places[k + 1] - places[k]) * (x - values[k])) / (values[k + 1] - values[k]);
}
