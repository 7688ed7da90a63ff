// Points in the cells of a grid, so that those under a pointer or inside a lasso are found without asking all.

export const CELLS = 256; // of the grid, a side, in which points are found

/** The box that holds all points, with a little room. @param {ArrayLike<number>} xs @param {ArrayLike<number>} ys */
export function bounds(xs, ys) {
  const ends = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < xs.length; i++) {
    const x = xs[i],
      y = ys[i];
    if (x < ends[0]) ends[0] = x;
    if (x > ends[1]) ends[1] = x;
    if (y < ends[2]) ends[2] = y;
    if (y > ends[3]) ends[3] = y;
  }
  const room = (/** @type {number} */ low, /** @type {number} */ high) => {
    if (!(high >= low)) return [0, 1];
    const more = (high - low) * 0.06 || Math.abs(low) * 0.1 || 1;
    return [low - more, high - low + 2 * more];
  };
  const [[x, w], [y, h]] = [room(ends[0], ends[1]), room(ends[2], ends[3])];
  return {x, y, w, h};
}

/** Points sorted into the cells of a grid, counted first. @param {ArrayLike<number>} xs @param {ArrayLike<number>} ys @param {any} whole */
export function gridded(xs, ys, whole) {
  const n = xs.length,
    starts = new Uint32Array(CELLS * CELLS + 1),
    cells = new Uint32Array(n),
    rows = new Uint32Array(n);
  for (let i = 0; i < n; i++) {
    const a = Math.floor(((xs[i] - whole.x) / whole.w) * CELLS),
      b = Math.floor(((ys[i] - whole.y) / whole.h) * CELLS);
    cells[i] = a >= 0 && b >= 0 ? Math.min(b, CELLS - 1) * CELLS + Math.min(a, CELLS - 1) : CELLS * CELLS; // a gap has no cell
    if (cells[i] < CELLS * CELLS) starts[cells[i] + 1]++;
  }
  for (let c = 0; c < CELLS * CELLS; c++) starts[c + 1] += starts[c];
  const next = starts.slice();
  for (let i = 0; i < n; i++) if (cells[i] < CELLS * CELLS) rows[next[cells[i]]++] = i;
  return {starts, rows};
}

/** The cells that an edge of a polygon passes, and those beside them. @param {[number, number][]} corners @param {any} whole */
export function edgeCells(corners, whole) {
  const edge = new Uint8Array(CELLS * CELLS),
    at = corners.map(([x, y]) => [((x - whole.x) / whole.w) * CELLS, ((y - whole.y) / whole.h) * CELLS]);
  at.forEach(([x, y], k) => {
    const [u, v] = at[(k + 1) % at.length],
      steps = Math.min(20_000, Math.ceil(2 * Math.max(Math.abs(u - x), Math.abs(v - y)))) + 1;
    for (let s = 0; s <= steps; s++)
      for (let dx = -1; dx <= 1; dx++)
        for (let dy = -1; dy <= 1; dy++) {
          const [a, b] = [Math.floor(x + ((u - x) * s) / steps) + dx, Math.floor(y + ((v - y) * s) / steps) + dy];
          if (a >= 0 && a < CELLS && b >= 0 && b < CELLS) edge[b * CELLS + a] = 1;
        }
  });
  return edge;
}
