// The view in the address, rows by their names and numbers, and questions of which the latest wins.
import assert from "node:assert/strict";
import test from "node:test";

import {web} from "./given.mjs";

const {fromAddress, viewOf} = await web("address.js"),
  {RowNames} = await web("rows.js"),
  {latestOnly} = await web("source.js");

const first = {screen: "row", row: 0, ax: "axis/0", ay: "axis/1", colour: "none", size: "none", cut: null, wide: null,
  hidden: new Set(), edited: new Map(), place: null, gap: null, group: null, ellipses: false, path: false};
const column = (name, answers = [], offset = null) => ({name, answers, offset});

function page(state = {}) {
  const app = {
    state: {...first, ...state},
    first: () => first,
    rows: new RowNames(9, ["a", "b", "c", "d", "b", "f", "g", "h", "7"], null),
    cells: [column("height"), column("town", ["Bern, old", "Cork = Co"]), column("price", [], 0.5)],
    facts: {n: 9, q: 2, columns: [0, 1, 2], uncertain: true},
    screens: new Map([["row", {}], ["place", {}]]),
    axisChoices: () => [["axis/0"], ["axis/1"], ["column/1"]],
    colourChoices: () => [["none"], ["label/0"]],
  };
  app.nameOf = i => app.rows.nameOf(i);
  return app;
}

function read(hash) {
  const app = page();
  globalThis.location = {hash: `#${hash}`};
  return [fromAddress(app), app.said];
}

test("what is written is read again", () => {
  const state = {screen: "place", row: 4, ay: "column/1", hidden: new Set([2]), edited: new Map([[0, 1.5], [1, "Cork = Co"]]),
    place: [0.25, -3], group: Uint32Array.from([1, 2, 3]), gap: [1, 3], wide: 2, ellipses: true, size: "sd"};
  const [again, said] = read(viewOf(page(state)));
  assert.equal(said, "");
  for (const key of Object.keys(state)) assert.deepEqual(again[key], state[key], key);
});

test("what cannot be is left out, and said", () => {
  const [state, said] = read("screen=film&row=nobody&set=height=abc&set=price=-2&wide=3.5&cut=9&place=1&gap=7,1&ax=evil");
  assert.deepEqual([state.screen, state.row, state.place, state.gap, state.ax], [undefined, undefined, undefined, undefined, undefined]);
  assert.equal(state.edited.size, 0);
  for (const word of ["'film'", "'nobody'", "'height=abc'", "'price=-2'", "wide is", "cut is"]) assert.ok(said.includes(word), word);
});

test("rows by their names and their numbers", () => {
  const {rows} = page();
  assert.deepEqual(["b", "5", "7", "10", "x"].map(word => rows.find(word)), [1, 4, 8, -1, -1]);
  assert.deepEqual([rows.wordOf(1), rows.wordOf(4), rows.wordOf(6)], ["b", "5", "g"]);
  assert.equal(rows.spans([1, 2, 3, 5]), "2-4,6");
  assert.deepEqual(Array.from(rows.rowsOf("2-4,6")), [1, 2, 3, 5]);
  assert.deepEqual(Array.from(new RowNames(5, null, null).rowsOf("4-9,1,nonsense")), [0, 3, 4]);
  assert.deepEqual([rows.search("H"), rows.search("zz")], [7, -1]);
});

test("one question at a time, and the latest is the next", async () => {
  const asked = [], doors = [];
  const ask = latestOnly(name => new Promise(done => (asked.push(name), doors.push(() => done(`${name}!`)))));
  const all = ["a", "b", "c", "d"].map(ask);
  await null;
  assert.deepEqual(asked, ["a"]);
  doors[0]();
  assert.deepEqual(await Promise.all(all.slice(0, 3)), ["a!", null, null]);
  await null;
  assert.deepEqual(asked, ["a", "d"]);
  const last = ask("e");
  doors[1]();
  assert.equal(await all[3], "d!");
  await new Promise(done => setTimeout(done, 0));
  doors[2]();
  assert.equal(await last, "e!");
});

test("a question that fails makes way", async () => {
  const ask = latestOnly(async name => {
    if (name === "bad") throw new Error("gone");
    return name;
  });
  const [bad, good] = [ask("bad"), ask("good")];
  await assert.rejects(bad, /gone/);
  assert.equal(await good, "good");
});
