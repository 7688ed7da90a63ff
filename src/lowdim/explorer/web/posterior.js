// The model in the browser: place(row), decode(z), surprise(row) and density(z) of what Python exports
// (explorer/exported.py): here the linear-Gaussian models, in bent.js the others. Rows are Float64Arrays on the scale a model
// takes, NaN at gaps; answers are in the table's units.

export const LOG_TWO_PI = Math.log(2 * Math.PI);
const SHARP = 1e6; // sum of signal to noise ratios beyond which posterior means are refined
const RANK_SHARE = 1e-10; // eigenvalues below this share of the largest hold no information on z

/** @typedef {Float64Array & {shape: number[]}} Tensor */
/** @typedef {{z: Float64Array, cov: Float64Array, logDensity: number | null}} Place */
/** @typedef {{mean: Float64Array, sd: Float64Array | null}} Decoded */
/** @typedef {{expected: Float64Array, sd: Float64Array, surprise: Float64Array, seen: number, D2: number | null,
 *   T2: number | null, Q: number | null, rank: number}} Judged */
/** @typedef {{kind: string, d: number, q: number, places: boolean, judges: boolean, place: (row: Float64Array) => Place,
 *   decode: (z: ArrayLike<number>) => Decoded, surprise: (row: Float64Array) => Judged,
 *   density: (z: ArrayLike<number>) => number, leans: (row: Float64Array, j: number) => Float64Array}} Model */

/** Arrays that travelled as base64 of little-endian doubles, wherever they stand. @param {any} value @returns {any} */
export function unpacked(value) {
  if (Array.isArray(value)) return value.map(unpacked);
  if (value === null || typeof value !== "object") return value;
  if (typeof value.f8 === "string" || typeof value.f4 === "string") return array(value);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, unpacked(part)]));
}

/** @param {{f8?: string, f4?: string, shape: number[]}} packed @returns {Tensor} */
function array(packed) {
  const text = atob(packed.f8 ?? packed.f4 ?? ""),
    bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const numbers =
    packed.f8 !== undefined ? new Float64Array(bytes.buffer) : Float64Array.from(new Float32Array(bytes.buffer));
  return Object.assign(numbers, {shape: packed.shape});
}

// small matrices, row by row ------------------------------------------------------------------------------------
/** Inverse of a positive definite matrix by Cholesky's factor, and the logarithm of its determinant.
 * @param {Float64Array} A @param {number} q @returns {{inverse: Float64Array, logdet: number}} */
export function inverted(A, q) {
  const L = new Float64Array(q * q),
    inverse = new Float64Array(q * q);
  let logdet = 0;
  for (let i = 0; i < q; i++)
    for (let j = 0; j <= i; j++) {
      let s = A[i * q + j];
      for (let k = 0; k < j; k++) s -= L[i * q + k] * L[j * q + k];
      L[i * q + j] = i === j ? Math.sqrt(s) : s / L[j * q + j];
      if (i === j) logdet += 2 * Math.log(L[i * q + i]);
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
  return {inverse, logdet};
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

/** @param {Float64Array} M @param {Float64Array} U @param {number} q @param {number} a @param {number} b */
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
export function times(z, T) {
  const [a, b] = T.shape,
    out = new Float64Array(b);
  for (let i = 0; i < a; i++) for (let j = 0; j < b; j++) out[j] += z[i] * T[i * b + j];
  return out;
}

/** T' C T. @param {Float64Array} C @param {Tensor} T @returns {Float64Array} */
export function turned(C, T) {
  const [a, b] = T.shape,
    half = new Float64Array(a * b),
    out = new Float64Array(b * b);
  for (let i = 0; i < a; i++)
    for (let k = 0; k < a; k++) for (let j = 0; j < b; j++) half[i * b + j] += C[i * a + k] * T[k * b + j];
  for (let i = 0; i < b; i++)
    for (let k = 0; k < a; k++) for (let j = 0; j < b; j++) out[i * b + j] += T[k * b + i] * half[k * b + j];
  return out;
}

/** The row in the model's units, and which cells are seen. @param {any} m @param {Float64Array} row */
export function framed(m, row) {
  const x = new Float64Array(m.d),
    seen = [];
  let stretch = 0;
  for (let j = 0; j < m.d; j++)
    if (!Number.isNaN(row[j])) {
      x[j] = (row[j] - m.shift[j]) * m.scale[j];
      stretch += m.stretch[j];
      seen.push(j);
    }
  return {x, seen, stretch};
}

/** Means and standard deviations in the table's units. @param {any} m @param {Float64Array} mean
 * @param {Float64Array | null} sd @returns {Decoded} */
export function outward(m, mean, sd) {
  for (let j = 0; j < m.d; j++) {
    mean[j] = mean[j] / m.scale[j] + m.shift[j];
    if (sd) sd[j] /= m.scale[j];
  }
  return {mean, sd};
}

// x = mu + W z + e ----------------------------------------------------------------------------------------------
/** p(z | seen cells): mean, covariance, what the mean leaves of each cell, and log |A|.
 * @param {any} g W, mu, psi (a number or one for each column), and doubt where it weighs
 * @param {Float64Array} x @param {number[]} seen */
function latent(g, x, seen) {
  const q = g.q,
    A = new Float64Array(q * q),
    right = new Float64Array(q),
    residual = new Float64Array(x.length);
  let signal = 0;
  for (let i = 0; i < q; i++) A[i * q + i] = 1;
  for (const j of seen) {
    const psi = g.psi[j] ?? g.psi,
      r = x[j] - g.mu[j];
    residual[j] = r;
    for (let a = 0; a < q; a++) {
      const w = g.W[j * q + a];
      right[a] += (w * r) / psi;
      for (let b = 0; b < q; b++) A[a * q + b] += (w * g.W[j * q + b]) / psi;
      if (g.weighs_doubt) {
        const at = j * (q + 1) * (q + 1) + a * (q + 1);
        right[a] -= g.doubt[at + q] / psi;
        for (let b = 0; b < q; b++) A[a * q + b] += g.doubt[at + b] / psi;
      }
    }
  }
  for (let j = 0; j < x.length; j++) for (let a = 0; a < q; a++) signal += g.W[j * q + a] ** 2 / (g.psi[j] ?? g.psi);
  const {inverse: cov, logdet} = inverted(A, q),
    mean = new Float64Array(q);
  const left = () =>
    seen.forEach(j => {
      residual[j] = x[j] - g.mu[j];
      for (let a = 0; a < q; a++) residual[j] -= mean[a] * g.W[j * q + a];
    });
  const step = (/** @type {Float64Array} */ b) => {
    for (let i = 0; i < q; i++) for (let k = 0; k < q; k++) mean[i] += cov[i * q + k] * b[k];
    left();
  };
  step(right);
  if (signal > SHARP && !g.weighs_doubt) {
    // little noise makes A ill-conditioned: one step wins the digits back
    const more = Float64Array.from(mean, v => -v);
    for (const j of seen) for (let a = 0; a < q; a++) more[a] += (residual[j] * g.W[j * q + a]) / (g.psi[j] ?? g.psi);
    step(more);
  }
  return {mean, cov, residual, logdet};
}

/** @param {any} m @returns {Model} */
export function linear(m) {
  const [d, q] = m.W.shape;
  Object.assign(m, {d, q});
  const plain = {...m, weighs_doubt: false}; // distances and surprises are those of W and psi as they are
  const distance = (/** @type {any} */ at, /** @type {number[]} */ seen) =>
    seen.reduce((sum, j) => sum + at.residual[j] ** 2 / m.psi[j], 0) +
    at.mean.reduce((/** @type {number} */ s, /** @type {number} */ v) => s + v * v, 0);

  const place = (/** @type {Float64Array} */ row) => {
    const {x, seen, stretch} = framed(m, row),
      at = latent(m, x, seen),
      D2 = distance(at, seen),
      k = seen.length;
    let mean = at.mean,
      cov = at.cov;
    const volume = -0.5 * (seen.reduce((s, j) => s + Math.log(m.psi[j]) + LOG_TWO_PI, 0) + at.logdet);
    if (m.scores) {
      const size = (/** @type {number} */ i) => Math.hypot(...Array.from({length: d}, (_, j) => m.W[j * q + i]));
      const sizes = Float64Array.from({length: q}, (_, i) => size(i));
      cov = cov.map((v, at) => v * sizes[Math.floor(at / q)] * sizes[at % q]);
      mean = projected(m, x, seen);
    }
    if (m.dof) cov = cov.map(v => (v * (m.dof + D2)) / (m.dof + k - 2));
    const logDensity = m.weighs_doubt || m.dof ? null : volume - 0.5 * D2 + stretch;
    return {z: times(mean, m.turn), cov: turned(cov, m.turn), logDensity};
  };

  const decode = (/** @type {ArrayLike<number>} */ place) => {
    const z = times(place, m.back),
      mean = new Float64Array(d),
      sd = new Float64Array(d);
    const wide = m.dof ? (m.dof + z.reduce((s, v) => s + v * v, 0)) / (m.dof + q - 2) : 1;
    for (let j = 0; j < d; j++) {
      const axes = m.scores ? m.scores.axes : m.W;
      mean[j] = m.mu[j];
      for (let a = 0; a < q; a++) mean[j] += z[a] * axes[j * q + a];
      const own = Math.max(parameterDoubt(m, j, z), 0) + m.psi[j] * m.excess[j] * wide,
        most = m.unknown?.[j] ?? 0; // calibrated cells are wider, up to those of an unknown row
      sd[j] = Math.sqrt(own < most * (1 - 1e-9) ? Math.min(m.inflation ** 2 * own, most) : own);
    }
    return outward(m, mean, sd);
  };

  const surprise = (/** @type {Float64Array} */ row) => {
    const {x, seen} = framed(m, row),
      at = latent(plain, x, seen),
      D2 = distance(at, seen);
    const {T2, Q, rank} = within(m, at, seen);
    const expected = new Float64Array(d),
      sd = new Float64Array(d),
      size = new Float64Array(d).fill(NaN);
    const isSeen = new Set(seen);
    for (let j = 0; j < d; j++) {
      let spread = 0,
        fill = m.mu[j];
      for (let a = 0; a < q; a++) {
        fill += at.mean[a] * m.W[j * q + a];
        for (let b = 0; b < q; b++) spread += m.W[j * q + a] * at.cov[a * q + b] * m.W[j * q + b];
      }
      const free = Math.max(1 - spread / m.psi[j], Number.EPSILON);
      if (isSeen.has(j)) {
        const shift = at.residual[j] / free;
        sd[j] = Math.sqrt(m.psi[j] / free);
        size[j] = shift / sd[j];
        expected[j] = x[j] - shift;
      } else {
        sd[j] = Math.sqrt(spread + m.psi[j]);
        expected[j] = fill;
      }
    }
    outward(m, expected, sd);
    return {expected, sd, surprise: size, seen: seen.length, D2, T2, Q, rank: Math.min(rank, seen.length)};
  };

  const density = (/** @type {ArrayLike<number>} */ place) => {
    const z = times(place, m.back),
      size = m.scores ? m.scores.size : null;
    return -0.5 * z.reduce((s, v, a) => s + (size ? (v / (size[a] || 1)) ** 2 : v * v), q * LOG_TWO_PI);
  };

  /** How much each seen cell moves the fill of cell j away from the column's mean, in the table's units. */
  const leans = (/** @type {Float64Array} */ row, /** @type {number} */ j) => {
    const {x, seen} = framed(m, row),
      {cov} = latent(plain, x, seen),
      out = new Float64Array(d);
    for (const k of seen)
      if (k !== j) {
        let weight = 0;
        for (let a = 0; a < q; a++)
          for (let b = 0; b < q; b++) weight += m.W[j * q + a] * cov[a * q + b] * m.W[k * q + b];
        out[k] = ((weight / m.psi[k]) * (x[k] - m.mu[k])) / m.scale[j];
      }
    return out;
  };
  return {kind: "linear", d, q: m.turn.shape[1], places: true, judges: true, place, decode, surprise, density, leans};
}

/** Scores by projection; by least squares on the seen cells where there are gaps.
 * @param {any} m @param {Float64Array} x @param {number[]} seen @returns {Float64Array} */
function projected(m, x, seen) {
  const {axes, size, psi} = m.scores,
    q = m.q,
    out = new Float64Array(q);
  if (seen.length === m.d) {
    for (let j = 0; j < m.d; j++) for (let a = 0; a < q; a++) out[a] += (x[j] - m.mu[j]) * axes[j * q + a];
    return out;
  }
  const W = Float64Array.from(axes, (/** @type {number} */ w, /** @type {number} */ at) => w * size[at % q]);
  const {mean} = latent({W, mu: m.mu, psi, q}, x, seen);
  return mean.map((v, a) => v * size[a]);
}

/** (z, 1)' V_j (z, 1): the doubt about the parameters of column j. @param {any} m @param {number} j @param {Float64Array} z */
function parameterDoubt(m, j, z) {
  const q = m.q,
    V = m.doubt,
    one = (/** @type {number} */ a) => (a < q ? z[a] : 1);
  let sum = 0;
  if (V.shape.length === 2) for (let a = 0; a <= q; a++) sum += V[j * (q + 1) + a] * one(a) ** 2;
  else
    for (let a = 0; a <= q; a++)
      for (let b = 0; b <= q; b++) sum += V[(j * (q + 1) + a) * (q + 1) + b] * one(a) * one(b);
  return sum;
}

/** T2, Q and the rank of the map within the seen cells: sums of squares that cannot cancel.
 * @param {any} m @param {any} at @param {number[]} seen */
function within(m, at, seen) {
  const q = m.q,
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
    if (values[e] > RANK_SHARE * top) {
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
