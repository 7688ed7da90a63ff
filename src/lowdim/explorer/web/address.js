// The view in the address: what is shown can be bookmarked, and back and forward work.

const LONG_GROUP = 1800; // letters of a group in the address; a longer one is not in it

/** The view as the address holds it. @param {any} app @returns {string} */
export function viewOf(app) {
  const s = app.state,
    first = /** @type {any} */ (app.first()),
    at = new URLSearchParams({screen: s.screen, row: app.nameOf(s.row)});
  for (const key of ["ax", "ay", "colour", "size", "cut", "from", "to", "along", "wide"])
    if (s[key] !== first[key] && s[key] !== null && String(s[key]).length <= LONG_GROUP) at.set(key, String(s[key]));
  for (const key of ["ellipses", "path"]) if (s[key]) at.set(key, "1");
  for (const j of s.hidden) at.append("hide", app.facts.columns[j].name);
  for (const [j, value] of s.edited) at.append("set", `${app.facts.columns[j].name}=${value}`);
  if (s.place) at.set("place", s.place.join(","));
  if (s.gap) at.set("gap", s.gap.join(","));
  if (s.maps.length) at.set("maps", s.maps.join(","));
  const group = s.group ? spans(s.group) : "";
  if (group && group.length <= LONG_GROUP) at.set("group", group);
  return String(at);
}

/** Write the state into the address, as a new step or in place of the last. @param {any} app @param {boolean} push */
export function toAddress(app, push) {
  const hash = `#${viewOf(app)}`;
  if (hash !== location.hash) history[push ? "pushState" : "replaceState"](null, "", hash);
}

/** The state that the address holds; what it does not know is left out. @param {any} app @returns {any} */
export function fromAddress(app) {
  const at = new URLSearchParams(location.hash.slice(1)),
    change = /** @type {any} */ ({}),
    {facts} = app,
    index = (/** @type {string} */ name) => facts.columns.findIndex((/** @type {any} */ c) => c.name === name);
  const text = at.get("row") ?? "",
    row = app.names ? app.names.indexOf(text) : /^\d+$/.test(text) ? Number(text) - 1 : -1;
  if (app.screens.has(at.get("screen") ?? "")) change.screen = at.get("screen");
  if (row >= 0 && row < facts.n) change.row = row;
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
  change.edited = new Map(
    /** @type {[number, number][]} */ (
      at
        .getAll("set")
        .map(part => [index(part.slice(0, part.lastIndexOf("="))), Number(part.slice(part.lastIndexOf("=") + 1))])
    ).filter(([j, value]) => j >= 0 && Number.isFinite(value)),
  );
  const place = (at.get("place") ?? "").split(",").map(Number);
  if (at.has("place") && place.length === facts.q && place.every(Number.isFinite)) change.place = place;
  const gap = (at.get("gap") ?? "").split(",").map(Number);
  if (at.has("gap") && gap.length === 2 && gap[0] >= 0 && gap[0] < facts.columns.length && gap[1] < facts.n)
    change.gap = gap;
  for (const key of ["from", "to"]) change[key] = at.get(key) ?? "";
  for (const key of ["along", "wide"])
    if (at.has(key) && Number(at.get(key)) >= 0) change[key] = Number(at.get(key));
  if (at.has("cut") && Number.isInteger(Number(at.get("cut")))) change.cut = Math.max(0, Number(at.get("cut")));
  change.maps = (at.get("maps") ?? "")
    .split(",")
    .filter(name => facts.maps.includes(name))
    .slice(0, 3);
  const group = rowsOf(at.get("group") ?? "", facts.n);
  change.group = group.length ? group : null;
  return change;
}

/** Rows as spans: "1-4,9". @param {ArrayLike<number>} rows @param {number} [first] what the first row is counted as */
export function spans(rows, first = 0) {
  const out = [],
    span = (/** @type {number} */ a, /** @type {number} */ b) => (a === b ? `${a + first}` : `${a + first}-${b + first}`);
  for (let k = 0; k < rows.length; k++) {
    const from = rows[k];
    while (k + 1 < rows.length && rows[k + 1] === rows[k] + 1) k++;
    out.push(span(from, rows[k]));
  }
  return out.join(",");
}

/** @param {string} text @param {number} n @param {number} [first] @returns {Uint32Array} */
export function rowsOf(text, n, first = 0) {
  const found = new Set();
  for (const part of text.split(",")) {
    const span = part.match(/^(\d+)(?:-(\d+))?$/);
    if (span)
      for (let i = Math.max(Number(span[1]) - first, 0); i <= Math.min(Number(span[2] ?? span[1]) - first, n - 1); i++)
        found.add(i);
  }
  return Uint32Array.from(/** @type {Set<number>} */ (found)).sort();
}
