// The view in the address: what is shown can be bookmarked, and back and forward work.
import {inwardOf} from "./row_panel.js";
import {brief} from "./words.js";

const LONG_GROUP = 1800; // letters of a group in the address; a longer one is not in it

/** The view as the address holds it. @param {any} app @returns {string} */
export function viewOf(app) {
  const s = app.state,
    first = /** @type {any} */ (app.first()),
    word = app.rows.wordOf(s.row),
    at = new URLSearchParams({screen: s.screen, row: word ?? app.nameOf(s.row)});
  if (word === null) at.set("at", String(s.row)); // another row has its name, and its number is a name
  for (const key of ["ax", "ay", "colour", "size", "cut", "wide"])
    if (s[key] !== first[key] && s[key] !== null && String(s[key]).length <= LONG_GROUP) at.set(key, String(s[key]));
  for (const key of ["ellipses", "path"]) if (s[key]) at.set(key, "1");
  for (const j of s.hidden) at.append("hide", app.cells[j].name);
  for (const [j, value] of s.edited) at.append("set", `${app.cells[j].name}=${value}`);
  if (s.place) at.set("place", s.place.join(","));
  if (s.gap) at.set("gap", s.gap.join(","));
  const group = s.group ? app.rows.spans(s.group) : "";
  if (group && group.length <= LONG_GROUP) at.set("group", group);
  return String(at);
}

/** Write the state into the address. A movement is one step, however many places it passes. @param {any} app
 * @param {boolean} push whether this is where it ends */
export function toAddress(app, push) {
  const hash = `#${viewOf(app)}`;
  if (hash !== location.hash) {
    history[app.moving ? "replaceState" : "pushState"](null, "", hash);
    app.moving = true;
  }
  if (push) app.moving = false;
}

/** The state that the address holds; what it does not know is left out, what cannot be is said. @param {any} app @returns {any} */
export function fromAddress(app) {
  const at = new URLSearchParams(location.hash.slice(1)),
    change = /** @type {any} */ ({}),
    unknown = /** @type {string[]} */ ([]),
    {facts} = app,
    index = (/** @type {string} */ name) => app.cells.findIndex((/** @type {any} */ c) => c.name === name);
  const word = at.get("row") ?? "",
    given = Number(at.get("at") ?? -1),
    row = Number.isInteger(given) && given >= 0 && given < facts.n && app.nameOf(given) === word ? given : app.rows.find(word);
  if (app.screens.has(at.get("screen") ?? "")) change.screen = at.get("screen");
  else if (at.get("screen")) unknown.push(`There is no screen '${brief(at.get("screen") ?? "", 20)}' for this model.`);
  if (row >= 0) change.row = row;
  else if (word) unknown.push(`There is no row '${brief(word, 40)}'.`);
  const axes = new Set(app.axisChoices().map((/** @type {string[]} */ [key]) => key)),
    colours = new Set(app.colourChoices().map((/** @type {string[]} */ [key]) => key));
  for (const key of ["ax", "ay"]) if (axes.has(at.get(key) ?? "")) change[key] = at.get(key);
  if (colours.has(at.get("colour") ?? "")) change.colour = at.get("colour");
  if (at.get("size") === "sd" && facts.uncertain) change.size = "sd";
  for (const key of ["ellipses", "path"]) change[key] = at.get(key) === "1";
  change.hidden = new Set(
    at
      .getAll("hide")
      .map(index)
      .filter(j => j >= 0),
  );
  change.edited = new Map();
  for (const part of at.getAll("set")) {
    const answer = app.cells.findIndex(
      (/** @type {any} */ c) => part.startsWith(`${c.name}=`) && c.answers.includes(part.slice(c.name.length + 1)),
    );
    if (answer >= 0) {
      change.edited.set(answer, part.slice(app.cells[answer].name.length + 1));
      continue;
    }
    const sign = part.lastIndexOf("="),
      j = index(part.slice(0, sign)),
      value = part.slice(sign + 1).trim() === "" ? NaN : Number(part.slice(sign + 1));
    if (j >= 0 && !app.cells[j].answers.length && Number.isFinite(value) && Number.isFinite(inwardOf(app.cells[j], value))) change.edited.set(j, value);
    else unknown.push(`'${brief(part, 40)}' is no column with a value it can have: left out.`);
  }
  const place = (at.get("place") ?? "").split(",").map(Number);
  if (at.has("place") && place.length === facts.q && place.every(Number.isFinite)) change.place = place;
  const gap = (at.get("gap") ?? "").split(",").map(Number);
  if (at.has("gap") && gap.length === 2 && gap.every(Number.isInteger) && gap[0] >= 0 && gap[0] < app.cells.length && gap[1] < facts.n)
    change.gap = gap;
  const most = /** @type {Record<string, number>} */ ({wide: facts.columns.length, cut: facts.columns.length});
  for (const key of Object.keys(most)) {
    const value = Number(at.get(key) || NaN);
    if (Number.isInteger(value) && value >= 0 && value <= most[key]) change[key] = value;
    else if (at.has(key)) unknown.push(`${key} is a whole number from 0 to ${most[key]}: left out.`);
  }
  const group = app.rows.rowsOf(at.get("group") ?? "");
  change.group = group.length ? group : null;
  app.said = unknown.join(" ");
  return change;
}
