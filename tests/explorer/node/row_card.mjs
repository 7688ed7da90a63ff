// The row card of a report, worked out without Python, has the numbers and the sentences of `subject.explain`.
import assert from "node:assert/strict";
import test from "node:test";

import {close, facts, web} from "./given.mjs";

const {unpacked} = await web("packed.js"),
  {LinearGaussian} = await web("posterior.js"),
  {RowLaw} = await web("laws.js"),
  {rowCard} = await web("row_card.js"),
  {lawWords, placeWords} = await web("row_panel.js");

for (const [name, {touch, cards}] of Object.entries(facts.reports)) {
  const given = unpacked(touch),
    model = new LinearGaussian(given.model, given.judge),
    law = new RowLaw(given.law),
    d = given.columns.length,
    row = i => Float64Array.from({length: d}, (_, j) => given.rows[i * d + j] / given.scale[j] + given.shift[j]),
    at = column => given.columns.findIndex(c => c.name === column);

  test(`${name}: distances, cells and place of touched rows`, () => {
    assert.ok(cards.length > 4);
    for (const theirs of cards) {
      const hidden = new Set(theirs.hidden.map(at)),
        edited = new Map(Object.entries(theirs.edited).map(([column, value]) => [at(column), value])),
        mine = rowCard(model, law, given.rules, given.columns, theirs.name, row(theirs.row), hidden, edited);
      for (const key of ["D2", "p", "T2", "Q", "pD2", "pT2", "pQ", "seen", "dof"])
        assert.ok(close(mine[key], theirs[key]), `row ${theirs.name}, ${key}: ${mine[key]}, not ${theirs[key]}`);
      for (const key of ["value", "expected", "sd", "surprise", "limit"])
        mine.cells.forEach((cell, j) =>
          assert.ok(close(cell[key], theirs.cells[j][key]), `row ${theirs.name}, ${cell.column}, ${key}: ${cell[key]}`),
        );
      assert.ok(mine.z.every((z, k) => close(z, theirs.z[k])) && mine.cov.every((v, k) => close(v, theirs.cov[k])));
      assert.deepEqual(mine.hide, theirs.hide);
      assert.equal(mine.sentence, theirs.sentence);
      assert.equal(lawWords(mine), theirs.laws);
      assert.match(placeWords(mine), /^axis 1 [+-]\d/);
    }
  });
}
