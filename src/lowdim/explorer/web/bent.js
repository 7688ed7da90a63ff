// Bent models in the browser: GTM places, decodes and judges rows by its nodes; a GP-LVM decodes places.
import {LOG_TWO_PI, eigen, framed, linear, outward, times, turned, unpacked} from "./posterior.js";

/** @typedef {import("./posterior.js").Model} Model */
const LOG_CLIP = -40; // logarithms of relative likelihoods below this are set to it

// a mixture of nodes --------------------------------------------------------------------------------------------
/** @param {any} m @returns {Model} */
function nodes(m) {
  const [K, d] = m.nodes.shape,
    L = m.grid.shape[1],
    half = 0.5 / m.psi;
  Object.assign(m, {d, q: L});
  const middle = new Float64Array(d);
  for (let k = 0; k < K; k++) for (let j = 0; j < d; j++) middle[j] += m.nodes[k * d + j] / K;

  /** Squared distances to the nodes over the seen cells. @param {Float64Array} x @param {number[]} seen */
  const squares = (x, seen) =>
    Float64Array.from({length: K}, (_, k) => seen.reduce((s, j) => s + (x[j] - m.nodes[k * d + j]) ** 2, 0));

  /** @param {Float64Array} square */
  const shares = square => {
    const least = square.reduce((a, b) => Math.min(a, b), Infinity);
    const share = square.map(s => Math.exp(Math.max(-half * (s - least), LOG_CLIP))),
      total = share.reduce((a, b) => a + b, 0);
    return {share: share.map(s => s / total), total, least};
  };

  /** @param {Float64Array} share @param {number} j */
  const cell = (share, j) => {
    let mean = 0,
      second = 0;
    for (let k = 0; k < K; k++) {
      mean += share[k] * m.nodes[k * d + j];
      second += share[k] * (m.nodes[k * d + j] - middle[j]) ** 2;
    }
    const total = Math.max(second - (mean - middle[j]) ** 2, 0) + m.psi;
    return {mean, sd: Math.sqrt(total * inflation(m, j, total))};
  };

  const place = (/** @type {Float64Array} */ row) => {
    const {x, seen, stretch} = framed(m, row),
      {share, total, least} = shares(squares(x, seen));
    const z = new Float64Array(L),
      cov = new Float64Array(L * L);
    for (let k = 0; k < K; k++) for (let a = 0; a < L; a++) z[a] += share[k] * m.grid[k * L + a];
    for (let k = 0; k < K; k++)
      for (let a = 0; a < L; a++)
        for (let b = 0; b < L; b++) {
          cov[a * L + b] += share[k] * (m.grid[k * L + a] - z[a]) * (m.grid[k * L + b] - z[b]);
        }
    const logDensity =
      Math.log(total / K) - half * least - 0.5 * seen.length * (LOG_TWO_PI + Math.log(m.psi)) + stretch;
    return {z: times(z, m.turn), cov: turned(cov, m.turn), logDensity};
  };

  const decode = (/** @type {ArrayLike<number>} */ place) => {
    const {bells} = bellsAt(m, times(place, m.back)),
      mean = new Float64Array(d),
      sd = new Float64Array(d);
    for (let j = 0; j < d; j++) {
      for (let b = 0; b < bells.length; b++) mean[j] += bells[b] * m.weights[b * d + j];
      sd[j] = Math.sqrt(m.psi * inflation(m, j, m.psi));
    }
    return outward(m, mean, sd);
  };

  const surprise = (/** @type {Float64Array} */ row) => {
    const {x, seen} = framed(m, row),
      square = squares(x, seen),
      isSeen = new Set(seen),
      whole = shares(square).share;
    const expected = new Float64Array(d),
      sd = new Float64Array(d),
      size = new Float64Array(d).fill(NaN);
    for (let j = 0; j < d; j++) {
      const without = isSeen.has(j)
        ? shares(square.map((s, k) => Math.max(s - (x[j] - m.nodes[k * d + j]) ** 2, 0))).share
        : whole;
      const says = cell(without, j);
      expected[j] = says.mean;
      sd[j] = says.sd;
      if (isSeen.has(j)) size[j] = (x[j] - says.mean) / says.sd;
    }
    outward(m, expected, sd);
    return {expected, sd, surprise: size, seen: seen.length, D2: null, T2: null, Q: null, rank: L};
  };

  /** Less the logarithm of the magnification: high where the sheet is calm, low where it is torn apart. */
  const density = (/** @type {ArrayLike<number>} */ place) => {
    const {slopes} = bellsAt(m, times(place, m.back)),
      J = new Float64Array(L * d),
      G = new Float64Array(L * L);
    for (let a = 0; a < L; a++)
      for (let b = 0; b < slopes.length / L; b++)
        for (let j = 0; j < d; j++) {
          J[a * d + j] += slopes[b * L + a] * m.weights[b * d + j] * m.report[j];
        }
    for (let a = 0; a < L; a++)
      for (let b = 0; b < L; b++) for (let j = 0; j < d; j++) G[a * L + b] += J[a * d + j] * J[b * d + j];
    return -0.5 * eigen(G, L).values.reduce((s, v) => s + Math.log(Math.max(v, 1e-300)), 0);
  };

  /** How far the fill of cell j moves when each seen cell is hidden. */
  const leans = (/** @type {Float64Array} */ row, /** @type {number} */ j) => {
    const {x, seen} = framed(m, row),
      others = seen.filter(k => k !== j),
      square = squares(x, others),
      out = new Float64Array(d);
    const full = cell(shares(square).share, j).mean;
    for (const k of others) {
      const less = shares(square.map((s, n) => Math.max(s - (x[k] - m.nodes[n * d + k]) ** 2, 0))).share;
      out[k] = (full - cell(less, j).mean) / m.scale[j];
    }
    return out;
  };
  return {kind: "nodes", d, q: L, places: true, judges: false, place, decode, surprise, density, leans};
}

/** What the variance of a cell is multiplied by. @param {any} m @param {number} j @param {number} total */
function inflation(m, j, total) {
  const square = m.inflation ** 2;
  return m.inflation <= 1 ? square : Math.min(Math.max(m.unknown[j] / (total || 1), 1), square);
}

/** exp(-|z - c|^2 / (2 width^2)) for each centre and a constant, and their slopes. @param {any} m @param {Float64Array} z */
function bellsAt(m, z) {
  const [M, L] = m.centres.shape,
    bells = new Float64Array(M + 1).fill(1),
    slopes = new Float64Array((M + 1) * L);
  for (let b = 0; b < M; b++) {
    let square = 0;
    for (let a = 0; a < L; a++) square += (z[a] - m.centres[b * L + a]) ** 2;
    bells[b] = Math.exp((-0.5 * square) / m.width ** 2);
    for (let a = 0; a < L; a++) slopes[b * L + a] = (bells[b] * (m.centres[b * L + a] - z[a])) / m.width ** 2;
  }
  return {bells, slopes};
}

// Gaussian processes: decoding only -------------------------------------------------------------------------------
/** @type {Record<string, (t: ArrayLike<number>, x: ArrayLike<number>, y: ArrayLike<number>) => number>} */
const KERNELS = {
  rbf: (t, x, y) => t[0] * Math.exp(-0.5 * t[1] * Array.from(x, (v, a) => (v - y[a]) ** 2).reduce((a, b) => a + b, 0)),
  linear: (t, x, y) => t[0] * dot(x, y),
  bias: t => t[0],
  mlp: (t, x, y) =>
    ((t[0] * 2) / Math.PI) *
    Math.asin(
      Math.min(
        1,
        Math.max(
          -1,
          (t[1] * dot(x, y) + t[2]) / Math.sqrt((t[1] * dot(x, x) + t[2] + 1) * (t[1] * dot(y, y) + t[2] + 1)),
        ),
      ),
    ),
};

/** @param {ArrayLike<number>} x @param {ArrayLike<number>} y */
const dot = (x, y) => Array.from(x).reduce((s, v, a) => s + v * y[a], 0);

/** @param {any} m @returns {Model} */
function process(m) {
  const [n, d] = m.alpha.shape,
    q = m.places.shape[1],
    at = (/** @type {number} */ i) => m.places.subarray(i * q, i * q + q);
  Object.assign(m, {d, q});
  const kernel = (/** @type {ArrayLike<number>} */ x, /** @type {ArrayLike<number>} */ y) =>
    m.terms.reduce((/** @type {number} */ s, /** @type {any} */ term) => s + KERNELS[term.name](term.numbers, x, y), 0);

  const decode = (/** @type {ArrayLike<number>} */ place) => {
    const z = times(place, m.back),
      k = Float64Array.from({length: n}, (_, i) => kernel(z, at(i))),
      prior = kernel(z, z);
    const mean = Float64Array.from(m.mu),
      sd = m.groups.length ? new Float64Array(d) : null;
    for (let i = 0; i < n; i++) for (let j = 0; j < d; j++) mean[j] += k[i] * m.alpha[i * d + j];
    for (const {rows, columns, root} of m.groups) {
      const size = rows.length;
      let less = 0; // |R k|^2: nothing cancels in it
      for (let a = 0; a < root.length / size; a++) {
        let half = 0;
        for (let b = 0; b < size; b++) half += root[a * size + b] * k[rows[b]];
        less += half * half;
      }
      const own = Math.max(prior - less, 1e-12 * prior) + m.noise;
      for (const j of columns) {
        const most = m.unknown[j]; // calibrated cells are wider, up to those of an unknown row
        if (sd) sd[j] = Math.sqrt(own < most * (1 - 1e-9) ? Math.min(m.inflation ** 2 * own, most) : own);
      }
    }
    return outward(m, mean, sd);
  };
  const none = () => {
    throw new Error("this model places no row in the browser");
  };
  /** Less the logarithm of the mean predictive variance. */
  const density = (/** @type {ArrayLike<number>} */ z) => {
    const {sd} = decode(z);
    return sd ? -Math.log(sd.reduce((s, v, j) => s + (v * m.scale[j]) ** 2, 0) / d) : 0;
  };
  return {
    kind: "process",
    d,
    q,
    places: false,
    judges: false,
    place: none,
    decode,
    surprise: none,
    density,
    leans: none,
  };
}

/** The model that Python exported. @param {any} spec @returns {Model | null} */
export function makeModel(spec) {
  if (!spec) return null;
  const m = unpacked(spec);
  return m.kind === "linear" ? linear(m) : m.kind === "nodes" ? nodes(m) : process(m);
}
