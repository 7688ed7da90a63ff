// What tests/explorer/test_node.py wrote down: the explorer's module, and numbers of Python.
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";

export const facts = JSON.parse(readFileSync(`${process.env.GIVEN}/facts.json`, "utf8"));

/** A file of the explorer's module. @param {string} name */
export const web = name => import(pathToFileURL(`${process.env.GIVEN}/web/${name}`).href);

/** The same numbers but for the last digits; null where there is none. */
export function close(mine, theirs, far = 1e-9) {
  if (theirs === null || mine === null) return mine === theirs;
  return Math.abs(mine - theirs) <= far * Math.max(1, Math.abs(theirs));
}
