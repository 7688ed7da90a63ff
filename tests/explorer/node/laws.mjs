// Tail probabilities are SciPy's.
import assert from "node:assert/strict";
import test from "node:test";

import {facts, web} from "./given.mjs";

const laws = await web("laws.js");

for (const [name, mine] of Object.entries({chi2: laws.chi2Upper, f: laws.fUpper, t: laws.tTwoSided}))
  test(`${name} to ten digits, far into the tail`, () => {
    for (const [given, theirs] of facts.tails[name])
      assert.ok(Math.abs(mine(...given) - theirs) <= 1e-10 * theirs, `${name}(${given}): ${mine(...given)}, not ${theirs}`);
  });
