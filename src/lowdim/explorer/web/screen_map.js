// Map: axes and colours to choose; draw round rows and hear what sets them apart.
import {colourRange, groupColour, ink, rgb, sequential, SHAPES} from "./draw.js";
import {outwardOf} from "./row_panel.js";
import {searchField} from "./rows.js";
import {outline} from "./raster.js";
import {brief, counted, el, figures, joinNames, named, pValue, shellWord, signed} from "./words.js";

const GROUP_LISTED = 14,
  ROWS_NAMED = 30,
  LONG_COMMAND = 1800, // letters of the rows that a command names
  MOST_WRITTEN = 5000; // rows of a group that the Python names one by one
const MOST_JOINED = 20_000; // rows that are joined by a line

/** @param {any} app */
export function mapScreen(app) {
  const {facts} = app,
    mapBox = el("div", {class: "map-box"}),
    legend = el("div", {class: "legend"});
  const choice = (/** @type {string} */ key, /** @type {string} */ label) => {
    const select = el("select", {
      onchange: (/** @type {any} */ e) =>
        app.go({[key]: e.target.value}, {said: `${label}: ${e.target.selectedOptions[0].textContent}.`}),
    });
    return {select, element: el("label", {class: "field"}, el("span", {}, label), select)};
  };
  const options = (/** @type {any} */ select, /** @type {[string, string][]} */ list) =>
    select.replaceChildren(...list.map(([value, text]) => el("option", {value}, brief(text, 40))));
  const [across, up, colour, size] = [
    choice("ax", "Across"),
    choice("ay", "Up"),
    choice("colour", "Colour"),
    choice("size", "Size"),
  ];
  options(across.select, app.axisChoices());
  options(up.select, app.axisChoices());
  options(colour.select, app.colourChoices());
  options(
    size.select,
    facts.uncertain
      ? [
          ["none", "the same for all"],
          ["sd", "how uncertain its place is"],
        ]
      : [["none", "the same for all"]],
  );
  const tick = (/** @type {string} */ key, /** @type {string} */ label) => {
    const box = el("input", {
      type: "checkbox",
      onchange: (/** @type {any} */ e) =>
        app.go({[key]: e.target.checked}, {said: `${label}: ${e.target.checked ? "on" : "off"}.`}),
    });
    return {box, element: el("label", {class: "tick"}, box, label)};
  };
  const ellipses = tick(
      "ellipses",
      facts.n <= facts.mostEllipses ? "Ellipses of all rows (E)" : "Ellipses of the drawn-round rows (E)",
    ),
    path = tick("path", "Join rows in their order");
  const lasso = el(
    "button",
    {type: "button", "aria-pressed": "false", onclick: () => arm(!app.map.wantsLasso)},
    "Draw round rows (L)",
  );
  const keyLasso = el("button", {type: "button", onclick: () => app.map.keyLasso()}, "Draw with keys");
  const clear = el(
      "button",
      {type: "button", onclick: () => app.go({group: null}, {said: "Group cleared."})},
      "Clear group",
    ),
    save = el("button", {type: "button", onclick: () => download()}, "Save group");
  const fit = el("button", {type: "button", onclick: () => app.map.fit()}, "Fit view (0)");
  const controls = el(
    "div",
    {},
    searchField(app),
    across.element,
    up.element,
    colour.element,
    size.element,
    facts.placed ? ellipses.element : null,
    path.element,
    el("div", {class: "pair"}, lasso, keyLasso),
    el("div", {class: "pair"}, fit, clear, save),
  );
  const view = el("div", {class: "grow"}, mapBox, legend);
  const sentence = el("p", {class: "lead"}),
    details = el("div"),
    inspector = el("div", {}, el("h2", {}, "What you have chosen"), sentence, details);
  /** @type {any} */ let found = null;
  /** @type {any} */ let asked = null;

  const arm = (/** @type {boolean} */ on) => {
    app.map.wantsLasso = on;
    lasso.setAttribute("aria-pressed", String(on));
    if (on) app.say("Draw round some rows with the pointer, or press Draw with keys.");
  };

  const paint = async () => {
    app.mapInto(mapBox);
    const s = app.state;
    for (const [part, key] of [
      [across, "ax"],
      [up, "ay"],
      [colour, "colour"],
      [size, "size"],
    ])
      /** @type {any} */ (part).select.value = s[/** @type {string} */ (key)];
    ellipses.box.checked = s.ellipses;
    path.box.checked = s.path;
    clear.hidden = save.hidden = !s.group;
    paintLegend();
    if (!s.group) {
      found = null;
      return paintRow();
    }
    if (asked !== s.group) {
      asked = s.group;
      found = null;
      sentence.textContent = "Comparing…";
      const card = await app.source.json("group", Array.from(s.group));
      if (asked === s.group) found = card;
    }
    if (asked === app.state.group && found) paintGroup();
  };

  const paintRow = () => {
    const {row} = app.state;
    const lacking = facts.decodes ? "Row and Gaps" : "Row, Place and Gaps",
      why = facts.placed ? "" : ` This model does not say what hidden cells hold, so that there are no screens of ${lacking}.`;
    sentence.textContent = `Row ${app.nameOf(row)}${app.rows.apart(row)}. Draw round some rows to hear what sets them apart.${why}`;
    details.replaceChildren(
      ...(app.screens.has("row")
        ? [el("button", {type: "button", onclick: () => app.go({screen: "row"})}, "Look at this row (1)")]
        : []),
      ...(facts.sentences.length
        ? [
            el("h3", {}, "The table"),
            el("ol", {class: "sentences"}, ...facts.sentences.map((/** @type {string} */ t) => el("li", {}, app.short(t)))),
          ]
        : []),
    );
    app.numbers = {row, x: app.map.px[row], y: app.map.py[row]};
    app.say(`${app.said ?? ""} ${sentence.textContent}`);
    app.map.draw();
  };

  const paintGroup = () => {
    sentence.textContent = app.short(found.sentence);
    app.numbers = {rows: Array.from(app.state.group), axes: found.axes, columns: found.columns};
    const interval = (/** @type {any} */ a) =>
      a.p === null
        ? ["too few cells"]
        : [
            signed(a.difference, 2),
            ...(a.low === null ? [] : [el("span", {class: "interval"}, `${signed(a.low, 2)} to ${signed(a.high, 2)}`)]),
          ];
    const lines = [...found.columns.slice(0, GROUP_LISTED), ...found.axes].map((/** @type {any} */ a) =>
      el(
        "tr",
        {class: a.differs ? "" : "quiet"},
        el("th", {scope: "row"}, named(a.name, 40)),
        el("td", {class: "n"}, figures(a.group, 3)),
        el("td", {class: "n"}, figures(a.others, 3)),
        el("td", {class: "n"}, ...interval(a)),
        el("td", {class: "n"}, a.p === null ? "" : `${pValue(a.p)}${a.differs ? "" : " ?"}`),
      ),
    );
    const rows = app.state.group,
      names = Array.from(rows.slice(0, ROWS_NAMED), (/** @type {number} */ i) => app.nameOf(i))
        .map(name => brief(name, 16))
        .join(", ");
    details.replaceChildren(
      el(
        "div",
        {class: "scroll"},
        el(
          "table",
          {},
          el(
            "caption",
            {},
            "The group beside all others; differences in spreads (sd) of the others, with 95% intervals; ?: not sure at a 5% false discovery rate",
          ),
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              ...["", "group", "others", "difference", "p"].map((text, k) =>
                el("th", {scope: "col", class: k ? "n" : ""}, text),
              ),
            ),
          ),
          el("tbody", {}, ...lines),
        ),
      ),
      el("p", {class: "quiet"}, "p is that of a group picked without looking at these columns or the map."),
      el(
        "p",
        {class: "quiet"},
        `${counted(rows.length, "row")}: ${names}${rows.length > ROWS_NAMED ? " and more" : ""}`,
      ),
    );
    app.say(`${app.said ?? ""} ${found.sentence}`);
    app.map.draw();
  };

  const paintLegend = () => {
    const {legend: shown, hollow} = app.painted,
      label = shown?.values !== undefined,
      words = [
        hollow && !shown ? "Hollow: a row with gaps." : "",
        app.state.size === "sd" && app.latent
          ? `Larger: less sure of its place along ${app.axisWords(app.state.ax).split(" (")[0]}.`
          : "",
        app.state.group ? "Faint: not in the group." : "",
        app.state.path && facts.n <= MOST_JOINED ? "Line: rows in their order." : "",
      ];
    legend.replaceChildren(
      ...(!shown ? [] : label ? labelMarks(shown) : colourStrip(shown)),
      el("span", {class: "quiet"}, words.join(" ").trim()),
    );
  };
  const colourStrip = (/** @type {any} */ shown) => {
    const strip = el("canvas", {class: "strip", width: 160, height: 12, "aria-hidden": "true"}),
      context = strip.getContext("2d");
    for (let x = 0; x < 160; x++) {
      context.fillStyle = `rgb(${sequential(x / 159).join()})`;
      context.fillRect(x, 0, 1, 12);
    }
    return [
      el("span", {}, `${brief(shown.name, 40)}:`),
      el("span", {}, figures(shown.range[0], 3)),
      strip,
      el("span", {}, figures(shown.range[1], 3)),
      el("span", {class: "quiet"}, "hollow: no value"),
    ];
  };
  const labelMarks = (/** @type {any} */ shown) => {
    const marks = shown.values.slice(0, 16).map((/** @type {string} */ value, /** @type {number} */ code) => {
      const mark = el("canvas", {width: 24, height: 24, class: "swatch", "aria-hidden": "true"}),
        context = mark.getContext("2d");
      context.fillStyle = `rgb(${groupColour(code).join()})`;
      context.beginPath();
      outline(context, code % SHAPES.length, 12, 12, 9);
      context.fill();
      return el("span", {class: "key"}, mark, brief(value || "(none)", 24));
    });
    return [
      el("span", {}, `${brief(shown.name, 40)}:`),
      ...marks,
      shown.values.length > 16 ? el("span", {}, `and ${shown.values.length - 16} more`) : "",
      el("span", {class: "quiet"}, "hollow: no value"),
    ];
  };

  const overlay = (
    /** @type {CanvasRenderingContext2D} */ context,
    /** @type {import("./scatter.js").Scatter} */ map,
  ) => {
    const s = app.state,
      {px, py} = map;
    if (s.path && facts.n <= MOST_JOINED) {
      context.strokeStyle = ink("--quiet", map.element);
      context.globalAlpha = 0.5;
      context.lineWidth = 1;
      context.beginPath();
      for (let i = 0; i < facts.n; i++) context.lineTo(...map.at(px[i], py[i]));
      context.stroke();
      context.globalAlpha = 1;
    }
    if (s.ellipses) {
      context.strokeStyle = ink("--accent", map.element);
      context.globalAlpha = 0.5;
      context.lineWidth = 1;
      for (const [i, cov] of app.ellipses) map.ellipse(context, px[i], py[i], cov);
      context.globalAlpha = 1;
    }
    app.ring(context, s.row);
  };
  const note = () =>
    app.state.ellipses && app.latent ? "Ellipses: where each row lies given its seen cells, 90%." : "";

  const wordOf = (/** @type {number} */ i) => app.rows.wordOf(i) ?? app.nameOf(i);
  /** The rows of the group as a command names them; nothing where they are too many, or one cannot be named. */
  const rowsNamed = () => {
    const words = Array.from(app.state.group.slice(0, LONG_COMMAND), (/** @type {number} */ i) => app.rows.wordOf(i)),
      text = words.includes(null) || words.length < app.state.group.length ? "" : joinNames(/** @type {string[]} */ (words));
    return text.length <= LONG_COMMAND ? text : "";
  };
  /** What the map shows and a picture by `lowdim plot map` would not. */
  const shownAlone = () => {
    const {ellipses, path, size} = app.state;
    return [size !== "none" && "sizes", ellipses && "ellipses", path && "joined rows"].filter(Boolean).join(", ");
  };
  const beside = () => {
    if (app.state.group) return rowsNamed() || !facts.run ? "" : "Save group first: the command reads the file it writes.";
    return shownAlone() ? `The Python gives the positions; ${shownAlone()} are in the view alone.` : "";
  };
  const download = () => {
    const text = Array.from(app.state.group, wordOf).join("\n") + "\n";
    const link = el("a", {href: URL.createObjectURL(new Blob([text], {type: "text/plain"})), download: "group.txt"});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    app.say("Saved group.txt: one row's name a line, for lowdim explain --group.");
  };
  const command = () => {
    if (!facts.run) return "";
    if (app.state.group) {
      const rows = rowsNamed();
      return ["lowdim", "explain", facts.run, ...(rows ? [`--rows=${rows}`] : ["--group", "group.txt"])].map(shellWord).join(" ");
    }
    if (shownAlone() || !facts.jury || !app.latent || facts.held || !/^(none|column|label)/.test(app.state.colour)) return "";
    const column = app.state.colour.match(/^(column|label)\/(\d+)$/),
      name = column && (column[1] === "column" ? facts.columns : facts.labels)[Number(column[2])].name;
    return [
      "lowdim",
      "plot",
      "map",
      facts.run,
      "--axes",
      app.latent.map((/** @type {number} */ k) => k + 1).join(","),
      ...(name ? ["--color", name] : []),
      "-o",
      "map.svg",
    ]
      .map(shellWord)
      .join(" ");
  };
  /** The numbers of an axis in Python. @param {string} name */
  const numbersOf = name => {
    const [kind, k] = name.split("/");
    if (kind === "order") return "subject.table.rows + 1";
    return kind === "axis" ? `subject.places.z[:, ${k}]` : `subject.table.X[:, ${k}]`;
  };
  const python = () => {
    const {group, ax, ay, row} = app.state;
    if (!group)
      return `${app.pythonSubject()}\nx, y = ${numbersOf(ax)}, ${numbersOf(ay)}\nprint(x[${row}], y[${row}])`;
    const rows =
      group.length <= MOST_WRITTEN || app.rows.names?.some((/** @type {string} */ _, /** @type {number} */ i) => app.rows.apart(i))
        ? `rows = [${Array.from(group).join(", ")}]`
        : 'names = set(open("group.txt", encoding="utf-8").read().splitlines())  # Save group writes it\n' +
          "rows = [i for i, name in enumerate(subject.table.row_names) if name in names]";
    return `${app.pythonSubject()}\n${rows}\ncard = subject.set_apart(rows)\nprint(card.text())`;
  };
  return {name: "Map", controls, view, inspector, paint, overlay, note, command, beside, python, arm};
}

/** Colours and shapes of all rows, for the scatter; and what they mean. @param {any} app */
export async function paintedPoints(app) {
  const {facts, state, data} = app,
    n = facts.n,
    colour = new Uint8Array(4 * n),
    how = new Uint8Array(4 * n),
    own = rgb(ink("--point", app.root));
  const [kind, which] = state.colour.split("/"),
    gaps = n <= 200_000 ? await data.numbers("extra/gaps") : null;
  const sizes = state.size === "sd" && app.latent ? await data.numbers(`sd/${app.latent[0]}`) : null,
    sizeRange = sizes && colourRange(sizes);
  /** @type {any} */ let legend = null;
  /** @type {any} */ let values = null;
  if (kind === "label") values = await data.codes(Number(which));
  else if (kind !== "none") values = await data.numbers(state.colour);
  if (kind === "label") legend = {name: facts.labels[Number(which)].name, values: facts.labels[Number(which)].values};
  else if (values) legend = {name: app.nameOfChoice(state.colour), low: colourRange(values)};
  const [low, high] = legend?.low ?? [0, 1],
    table = Array.from({length: 256}, (_, k) => sequential(k / 255)),
    groups = Array.from({length: 8}, (_, k) => groupColour(k));
  const chosen = state.group ? new Uint8Array(n) : null;
  state.group?.forEach((/** @type {number} */ i) => {
    /** @type {Uint8Array} */ (chosen)[i] = 1;
  });
  const strong = n > 50_000 ? 150 : 215;
  if (kind === "none" && !chosen && !sizes && !gaps) {
    // all alike: one number a point
    new Uint32Array(colour.buffer).fill(own[0] + (own[1] << 8) + (own[2] << 16) + strong * 2 ** 24);
    new Uint32Array(how.buffer).fill(51 << 16);
    return {colour, how, legend, hollow: false};
  }
  let some = false;
  for (let i = 0; i < n; i++) {
    let c = own,
      hollow = gaps ? gaps[i] > 0 : false,
      shape = 0;
    if (kind === "label") {
      hollow = values[i] < 0;
      c = hollow ? own : groups[values[i] % 8];
      shape = hollow ? 0 : values[i] % SHAPES.length;
    } else if (values) {
      hollow = Number.isNaN(values[i]);
      c = hollow ? own : table[Math.round(255 * Math.min(1, Math.max(0, (values[i] - low) / (high - low))))];
    }
    const at = 4 * i;
    colour[at] = c[0];
    colour[at + 1] = c[1];
    colour[at + 2] = c[2];
    colour[at + 3] = chosen ? (chosen[i] ? 255 : 45) : strong;
    how[at] = shape;
    how[at + 1] = hollow ? 1 : 0;
    some ||= hollow;
    how[at + 3] = chosen && chosen[i] ? 255 : 0;
    how[at + 2] =
      sizes && sizeRange
        ? Math.round(20 + 180 * Math.min(1, Math.max(0, (sizes[i] - sizeRange[0]) / (sizeRange[1] - sizeRange[0]))))
        : 51;
  }
  if (legend?.low) {
    const j = kind === "column" ? Number(which) : -1,
      own = (/** @type {number} */ v) => (j < 0 ? v : outwardOf(facts.columns[j], data.inUnits(j, v)));
    legend.range = legend.low.map(own);
  }
  return {colour, how, legend, hollow: some};
}
