// x = mu + W z + e in the page: where a row of the main job's map lies and what its cells say of each other, for the row
// card of a report that works offline. The explorer asks Python. Rows are Float64Arrays on the scale that the model takes,
// NaN at gaps; answers are in the table's units. Numbers of the model come from report/touch.py.

/** @typedef {import("./packed.js").Tensor} Tensor */
/** @typedef {{W: Tensor, mu: Tensor, psi: Tensor, turn: Tensor, shift: Tensor, scale: Tensor, sharp: number,
 *   rankShare: number}} Numbers psi: one for each column; turn: from the model's axes to those that are shown */
/** @typedef {{expected: Float64Array, sd: Float64Array, surprise: Float64Array, cellD2: number, kept: boolean[], seen: number,
 *   D2: number, T2: number, Q: number, rank: number}} Judged */

// small matrices, row by row ------------------------------------------------------------------------------------
/** Inverse of a positive definite matrix by Cholesky's factor.
 * @param {Float64Array} A @param {number} q @returns {Float64Array} */
export function inverted(A, q) {
  const L = new Float64Array(q * q),
    inverse = new Float64Array(q * q);
  for (let i = 0; i < q; i++)
    for (let j = 0; j <= i; j++) {
      let s = A[i * q + j];
      for (let k = 0; k < j; k++) s -= L[i * q + k] * L[j * q + k];
      L[i * q + j] = i === j ? Math.sqrt(s) : s / L[j * q + j];
    }
  for (let c = 0; c < q; c++) {
    const y = new Float64Array(q);
    for (let i = c; i < q; i++) {
      let s = i === c ? 1 : 0;
      for (let k = c; k < i; k++) s -= L[i * q + k] * y[k];
      y[i] = s / L[i * q + i];
    }
    for (let i = q - 1; i >= 0; i--) {
      let s = y[i];
      for (let k = i + 1; k < q; k++) s -= L[k * q + i] * inverse[k * q + c];
      inverse[i * q + c] = s / L[i * q + i];
    }
  }
  return inverse;
}

/** Eigenvalues and eigenvectors (columns of U) of a symmetric matrix by Jacobi's rotations.
 * @param {Float64Array} A @param {number} q @returns {{values: Float64Array, U: Float64Array}} */
export function eigen(A, q) {
  const M = Float64Array.from(A),
    U = new Float64Array(q * q);
  for (let i = 0; i < q; i++) U[i * q + i] = 1;
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0,
      on = 0;
    for (let i = 0; i < q; i++)
      for (let j = 0; j < q; j++) i === j ? (on += M[i * q + i] ** 2) : (off += M[i * q + j] ** 2);
    if (off <= 1e-32 * on) break;
    for (let a = 0; a < q; a++) for (let b = a + 1; b < q; b++) rotated(M, U, q, a, b);
  }
  return {values: Float64Array.from({length: q}, (_, i) => M[i * q + i]), U};
}

/** One rotation. @param {Float64Array} M @param {Float64Array} U @param {number} q @param {number} a @param {number} b */
function rotated(M, U, q, a, b) {
  const off = M[a * q + b];
  if (off === 0) return;
  const tau = (M[b * q + b] - M[a * q + a]) / (2 * off);
  const t = Math.sign(tau || 1) / (Math.abs(tau) + Math.hypot(1, tau)),
    c = 1 / Math.hypot(1, t),
    s = t * c;
  for (let k = 0; k < q; k++) {
    const x = M[k * q + a],
      y = M[k * q + b];
    M[k * q + a] = c * x - s * y;
    M[k * q + b] = s * x + c * y;
  }
  for (let k = 0; k < q; k++) {
    const x = M[a * q + k],
      y = M[b * q + k],
      u = U[k * q + a],
      v = U[k * q + b];
    M[a * q + k] = c * x - s * y;
    M[b * q + k] = s * x + c * y;
    U[k * q + a] = c * u - s * v;
    U[k * q + b] = s * u + c * v;
  }
}

/** z T, with T of shape a x b. @param {ArrayLike<number>} z @param {Tensor} T @returns {Float64Array} */
function times(z, T) {
  const [a, b] = T.shape,
    out = new Float64Array(b);
  for (let i = 0; i < a; i++) for (let j = 0; j < b; j++) out[j] += z[i] * T[i * b + j];
  return out;
}

/** T' C T. @param {Float64Array} C @param {Tensor} T @returns {Float64Array} */
function turned(C, T) {
  const [a, b] = T.shape,
    half = new Float64Array(a * b),
    out = new Float64Array(b * b);
  for (let i = 0; i < a; i++)
    for (let k = 0; k < a; k++) for (let j = 0; j < b; j++) half[i * b + j] += C[i * a + k] * T[k * b + j];
  for (let i = 0; i < b; i++)
    for (let k = 0; k < a; k++) for (let j = 0; j < b; j++) out[i * b + j] += T[k * b + i] * half[k * b + j];
  return out;
}

/** A row without some of its cells. @param {Float64Array} row @param {boolean[]} kept */
const only = (row, kept) => row.map((v, j) => (kept[j] ? v : NaN));

// one row ---------------------------------------------------------------------------------------------------------
export class LinearGaussian {
  /** @param {Numbers} numbers @param {Numbers=} sharper of the model that cells are judged by, where it is another */
  constructor(numbers, sharper) {
    this.m = numbers;
    /** @type {LinearGaussian | null} */
    this.judge = sharper ? new LinearGaussian(sharper) : null;
    this.d = numbers.W.shape[0];
    this.q = numbers.W.shape[1];
  }

  /** p(z | seen cells): mean, covariance, and what the mean leaves of each cell. @param {Float64Array} row */
  latent(row) {
    const {m, d, q} = this,
      x = row.map((v, j) => (v - m.shift[j]) * m.scale[j]),
      seen = Array.from(row.keys()).filter(j => !Number.isNaN(row[j])),
      A = new Float64Array(q * q),
      right = new Float64Array(q),
      residual = new Float64Array(d);
    let signal = 0;
    for (let a = 0; a < q; a++) A[a * q + a] = 1;
    for (const j of seen)
      for (let a = 0; a < q; a++) {
        const pull = m.W[j * q + a] / m.psi[j];
        right[a] += pull * (x[j] - m.mu[j]);
        for (let b = 0; b < q; b++) A[a * q + b] += pull * m.W[j * q + b];
      }
    for (let j = 0; j < d; j++) for (let a = 0; a < q; a++) signal += m.W[j * q + a] ** 2 / m.psi[j];
    const cov = inverted(A, q),
      mean = new Float64Array(q);
    const step = (/** @type {Float64Array} */ b) => {
      for (let i = 0; i < q; i++) for (let k = 0; k < q; k++) mean[i] += cov[i * q + k] * b[k];
      for (const j of seen) {
        residual[j] = x[j] - m.mu[j];
        for (let a = 0; a < q; a++) residual[j] -= mean[a] * m.W[j * q + a];
      }
    };
    step(right);
    if (signal > m.sharp) {
      // little noise makes A ill-conditioned: one step wins the digits back
      const more = mean.map(v => -v);
      for (const j of seen) for (let a = 0; a < q; a++) more[a] += (residual[j] * m.W[j * q + a]) / m.psi[j];
      step(more);
    }
    return {x, seen, mean, cov, residual};
  }

  /** Where a row lies on the axes that are shown, and how surely. @param {Float64Array} row */
  place(row) {
    const {mean, cov} = this.latent(row);
    return {z: times(mean, this.m.turn), cov: turned(cov, this.m.turn)};
  }

  /** The row's distances, and every cell given the others that do not contradict it.
   * @param {Float64Array} row @param {{cut: number[], held: number}} law @returns {Judged} */
  surprise(row, law) {
    const at = this.latent(row),
      {T2, Q, rank} = this.within(at),
      by = this.judge ?? this,
      kept = by.keptCells(row, law);
    const {expected, sd, surprise, D2: cellD2} = by.given(only(row, kept));
    row.forEach((x, j) => {
      if (!kept[j]) surprise[j] = (x - expected[j]) / sd[j];
    });
    const cells = {expected, sd, surprise, cellD2, kept};
    return {...cells, seen: at.seen.length, D2: this.distance(at), T2, Q, rank: Math.min(rank, at.seen.length)};
  }

  /** The seen cells but those that contradict their row: the most surprising of it, and so on, until none is beyond the
   * cut of its column; what no longer surprises at the end is taken back.
   * @param {Float64Array} row @param {{cut: number[], held: number}} law @returns {boolean[]} */
  keptCells(row, {cut, held}) {
    const keep = Array.from(row, v => !Number.isNaN(v)),
      most = Math.floor(held * keep.filter(Boolean).length);
    if (!cut.some(Number.isFinite)) return keep;
    const out = /** @type {number[]} */ ([]);
    while (out.length < most) {
      const {surprise} = this.given(only(row, keep)),
        size = Array.from(surprise, (s, j) => (keep[j] ? Math.abs(s) / cut[j] : 0)),
        worst = size.indexOf(Math.max(...size));
      if (!(size[worst] > 1)) break;
      out.push(worst);
      keep[worst] = false;
    }
    const {expected, sd} = this.given(only(row, keep));
    for (const j of out) keep[j] = Math.abs(row[j] - expected[j]) / sd[j] < cut[j];
    return keep;
  }

  /** What the others of the row say of each cell, and the row's distance. @param {Float64Array} row */
  given(row) {
    const {m, d, q} = this,
      at = this.latent(row),
      expected = new Float64Array(d),
      sd = new Float64Array(d),
      surprise = new Float64Array(d).fill(NaN);
    for (let j = 0; j < d; j++) {
      let spread = 0,
        fill = m.mu[j];
      for (let a = 0; a < q; a++) {
        fill += at.mean[a] * m.W[j * q + a];
        for (let b = 0; b < q; b++) spread += m.W[j * q + a] * at.cov[a * q + b] * m.W[j * q + b];
      }
      sd[j] = Math.sqrt(spread + m.psi[j]);
      expected[j] = fill;
      if (!Number.isNaN(row[j])) {
        const free = Math.max(1 - spread / m.psi[j], Number.EPSILON),
          shift = at.residual[j] / free;
        sd[j] = Math.sqrt(m.psi[j] / free);
        surprise[j] = shift / sd[j];
        expected[j] = at.x[j] - shift;
      }
      expected[j] = expected[j] / m.scale[j] + m.shift[j];
      sd[j] /= m.scale[j];
    }
    return {expected, sd, surprise, D2: this.distance(at)};
  }

  /** @param {{seen: number[], mean: Float64Array, residual: Float64Array}} at */
  distance({seen, mean, residual}) {
    const off = seen.reduce((sum, j) => sum + residual[j] ** 2 / this.m.psi[j], 0);
    return mean.reduce((sum, v) => sum + v * v, off);
  }

  /** T2, Q and the rank of the map within the seen cells: sums of squares that cannot cancel.
   * @param {{seen: number[], mean: Float64Array, residual: Float64Array}} at */
  within(at) {
    const {m, q} = this,
      {seen} = at,
      G = new Float64Array(q * q),
      z = at.mean;
    for (const j of seen)
      for (let a = 0; a < q; a++)
        for (let b = 0; b < q; b++) G[a * q + b] += (m.W[j * q + a] * m.W[j * q + b]) / m.psi[j];
    const {values, U} = eigen(G, q),
      top = values.reduce((a, b) => Math.max(a, b), 0),
      more = new Float64Array(q);
    let rank = 0,
      T2 = 0,
      Q = 0;
    for (let e = 0; e < q; e++)
      if (values[e] > m.rankShare * top) {
        let across = 0;
        rank++;
        for (let a = 0; a < q; a++) across += U[a * q + e] * z[a];
        for (let a = 0; a < q; a++) more[a] += (U[a * q + e] * across) / values[e];
      }
    for (let a = 0; a < q; a++) T2 += z[a] * z[a] + z[a] * more[a];
    for (const j of seen) {
      let left = at.residual[j];
      for (let a = 0; a < q; a++) left -= more[a] * m.W[j * q + a];
      Q += (left * left) / m.psi[j];
    }
    return {T2, Q, rank};
  }
}
