// Points in the cells of a grid, ticks, ranges of colours, and the curve of a fill.
import assert from "node:assert/strict";
import test from "node:test";

import {web} from "./given.mjs";

const {bounds, CELLS, edgeCells, gridded} = await web("grid.js"),
  {colourRange, rgb, ticks} = await web("draw.js"),
  {inwardOf, outwardOf} = await web("row_panel.js"),
  {formOf} = await web("pictures.js"),
  {fillDensity} = await web("screen_gaps.js");

test("every point but a gap stands in its cell, once", () => {
  const n = 500,
    xs = Float64Array.from({length: n}, (_, i) => (i === 7 ? NaN : Math.sin(i) * 3)),
    ys = Float64Array.from({length: n}, (_, i) => Math.cos(1.7 * i)),
    whole = bounds(xs, ys),
    {starts, rows} = gridded(xs, ys, whole);
  assert.equal(starts[CELLS * CELLS], n - 1);
  const seen = new Set();
  for (let c = 0; c < CELLS * CELLS; c++)
    for (let k = starts[c]; k < starts[c + 1]; k++) {
      const i = rows[k];
      assert.equal(Math.floor(((xs[i] - whole.x) / whole.w) * CELLS), c % CELLS);
      assert.equal(Math.floor(((ys[i] - whole.y) / whole.h) * CELLS), Math.floor(c / CELLS));
      seen.add(i);
    }
  assert.equal(seen.size, n - 1);
  assert.ok(!seen.has(7));
});

test("the box of nothing and of one point", () => {
  assert.deepEqual(bounds([], []), {x: 0, y: 0, w: 1, h: 1});
  const one = bounds([5], [0]);
  assert.ok(one.x < 5 && one.x + one.w > 5 && one.w > 0 && one.h > 0);
});

test("an edge passes its corners' cells", () => {
  const whole = {x: 0, y: 0, w: 1, h: 1},
    edge = edgeCells([[0.1, 0.1], [0.9, 0.1], [0.5, 0.9]], whole),
    at = (x, y) => edge[Math.floor(y * CELLS) * CELLS + Math.floor(x * CELLS)];
  assert.deepEqual([at(0.1, 0.1), at(0.5, 0.1), at(0.7, 0.5), at(0.5, 0.5), at(0.05, 0.9)], [1, 1, 1, 0, 0]);
});

test("ticks are round and inside", () => {
  assert.deepEqual(ticks(0, 1, 5), [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1]);
  assert.ok(ticks(-3.3, 8.1).every(t => t >= -3.3 && t <= 8.1));
  assert.deepEqual(ticks(1, 1), []);
});

test("one far value does not take all colours", () => {
  const values = Float64Array.from({length: 1000}, (_, i) => (i === 3 ? 1e9 : i % 10));
  assert.deepEqual(colourRange(values), [0, 9]);
  assert.deepEqual(colourRange([NaN]), [0, 1]);
  assert.deepEqual(rgb("#0a10ff"), [10, 16, 255]);
});

test("logarithms and back", () => {
  const column = {offset: 0.05};
  for (const v of [0, 0.3, 7, 1e6]) assert.ok(Math.abs(outwardOf(column, inwardOf(column, v)) - v) <= 1e-9 * Math.max(v, 1));
  assert.equal(outwardOf({offset: null}, -2), -2);
  assert.ok(Number.isNaN(inwardOf(column, -1)));
});

test("an image as wide as somebody says", () => {
  const facts = {form: {kind: "curve"}, columns: [0, 1, 2, 3, 4].map(k => ({offset: null, low: -k, high: k}))};
  assert.deepEqual(formOf(facts, null), {kind: "curve"});
  assert.equal(formOf(facts, 0), null);
  const {width, height, low, high, cells} = formOf(facts, 2);
  assert.deepEqual([width, height, low, high, cells.length], [2, 3, -4, 4, 5]);
});

test("the curve of a fill is highest at the fill and as wide as its interval", () => {
  const density = fillDensity({offset: null}, {low: 2, value: 4, high: 10, half: 2});
  assert.equal(density(4), 1);
  assert.ok(Math.abs(density(3) - density(7)) < 1e-12 && Math.abs(density(2) - Math.exp(-2)) < 1e-12);
  assert.equal(fillDensity({offset: 1}, {low: 0, value: 1, high: 3, half: 1})(-2), 0);
});
