// Numbers, names and commands are written as Python writes them.
import assert from "node:assert/strict";
import test from "node:test";

import {facts, web} from "./given.mjs";

const words = await web("words.js");

for (const [name, mine] of Object.entries({
  figures: words.figures,
  figures_by_sd: words.figuresBySd,
  observed: words.observed,
  p_value: words.pValue,
  shell: words.shellWord,
  count: words.counted,
}))
  test(`${name} as in Python`, () => {
    for (const [given, theirs] of facts.formats[name]) assert.equal(mine(...given), theirs, `${name}(${given})`);
    assert.ok(facts.formats[name].length > 4);
  });

test("what the rest of a row says ends where its column does", () => {
  for (const [cell, theirs] of facts.formats.expectation) assert.equal(words.expectation(cell), theirs);
});

test("a sign only where something is left", () => {
  assert.equal(words.signed(-0.04), "+0.0");
  assert.equal(words.signed(-0.06), "-0.1");
  assert.equal(words.signed(1.239, 2), "+1.24");
});

test("names that fit keep their ends", () => {
  assert.equal(words.brief("short"), "short");
  const long = `${"x".repeat(50)} the end`;
  assert.equal(words.brief(long).length, 32);
  assert.ok(words.brief(long).endsWith("the end"));
  assert.equal(words.shortened(`${"y".repeat(90)} is high`, [{name: "y".repeat(90)}]).length, 40 + " is high".length);
});

test("names with commas and quotes are one word", () => {
  assert.equal(words.joinNames(["a", "b, c", 'd "e"']), 'a,"b, c","d ""e"""');
});

test("texts as Python's literals", () => {
  assert.equal(words.pythonText('a"b\n'), '"a\\"b\\n"');
  assert.equal(words.pythonText("é😀"), '"\\u00e9\\U0001f600"');
});
