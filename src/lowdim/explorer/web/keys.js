// Every action by a key; the help lists them.

/** What each key does, of what there is. @param {any} app @returns {[string, string][]} */
export const keysOf = app =>
  /** @type {[string, string, boolean?][]} */ ([
    [`1 to ${app.screens.size}`, [...app.screens.values()].map(screen => screen.name).join(", "), app.screens.size > 1],
    ["/", "search a row"],
    ["n, p", "next and previous odd row", app.facts.odd.length > 0],
    ["h", "Row: hide the fewest cells that make the row ordinary", app.screens.has("row") && app.facts.judged],
    ["r", "Row: restore all cells", app.screens.has("row")],
    ["Arrow keys on the map", `step through rows${app.screens.has("place") ? "; on Place, move the cross" : ""}`],
    ["+, -, 0 on the map", "zoom in, zoom out, fit"],
    ["l", "draw round rows with the pointer"],
    ["k", "draw round rows with the keys"],
    ["e", "ellipses", app.facts.placed],
    ["c", "choose colours"],
    ["Escape", "clear the group"],
    ["?", "this help"],
  ])
    .filter(([, , there = true]) => there)
    .map(([key, what]) => [key, what]);

/** What a key does, unless somebody is typing. @param {any} app @param {KeyboardEvent} event */
export function pressed(app, event) {
  const typing =
    event.target instanceof Element && /** @type {Element} */ (event.target).matches("input, select, textarea");
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    app.help.open ||
    (typing && event.key !== "Escape") ||
    event.defaultPrevented
  )
    return;
  const keys = [...app.screens.keys()],
    number = Number(event.key);
  if (number >= 1 && number <= keys.length) {
    app.go({screen: keys[number - 1]});
    app.tabs?.get(keys[number - 1]).focus();
  } else if (event.key === "?") app.help.showModal();
  else if (event.key === "/") search(app);
  else if (event.key === "n") app.nextOdd(1);
  else if (event.key === "p") app.nextOdd(-1);
  else if (event.key === "h" && app.state.screen === "row") app.screens.get("row").hideFewest();
  else if (event.key === "r" && app.state.screen === "row")
    app.go({hidden: new Set(), edited: new Map()}, {said: "All cells restored."});
  else if (event.key === "l") {
    app.go({screen: "map"});
    app.screen.arm(true);
  } else if (event.key === "k") app.go({screen: "map"}).then(() => app.map.keyLasso());
  else if (event.key === "e" && app.facts.placed)
    app.go({screen: "map", ellipses: !app.state.ellipses}, {said: `Ellipses ${app.state.ellipses ? "off" : "on"}.`});
  else if (event.key === "c") app.go({screen: "map"}).then(() => app.left.querySelectorAll("select")[2]?.focus());
  else if (event.key === "Escape") {
    if (typing) /** @type {any} */ (event.target).blur();
    else app.go({group: null}, {said: "Group cleared."});
  } else if (
    (event.key === "ArrowRight" || event.key === "ArrowLeft") &&
    /** @type {any} */ (event.target).role === "tab"
  ) {
    const next =
      keys[(keys.indexOf(app.state.screen) + (event.key === "ArrowRight" ? 1 : keys.length - 1)) % keys.length];
    app.go({screen: next});
    app.tabs?.get(next).focus();
  } else return;
  event.preventDefault();
}

/** To the field that finds a row; where a screen has none, on the first that has. @param {any} app */
async function search(app) {
  const field = () => app.left.querySelector(".search input");
  if (!field()) await app.go({screen: app.rowScreen});
  field()?.focus();
}
