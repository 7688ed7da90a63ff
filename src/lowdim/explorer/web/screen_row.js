// Row: cells as bars; hide, restore or edit one, and the point, its ellipse, the fills and the sentence follow.
import {ink} from "./draw.js";
import {lawWords, placeWords, rowPanel} from "./row_panel.js";
import {searchField} from "./rows.js";
import {brief, counted, el, figures, joinNames, percent, pValue, pythonText, shellWord} from "./words.js";

const ODD_LISTED = 12;

/** A fill: a number with its interval, or an answer with its chance. @param {any} fill @param {string} [level] of the interval */
export function fillWords(fill, level = "") {
  if (fill.word !== undefined) return `${fill.word} (${percent(fill.chance)})`;
  return `${figures(fill.value, 4)} (${figures(fill.low, 4)} to ${figures(fill.high, 4)}${level})`;
}

/** @param {any} app */
export function rowScreen(app) {
  const {facts} = app;
  if (!facts.placed) return null; // Map says so
  const panel = rowPanel(app.cells, (hidden, edited, said) => app.go({hidden, edited}, {said}));
  const sentence = el("p", {class: "lead"}),
    gauges = el("div", {class: "gauges"}),
    fills = el("div"),
    where = el("p", {class: "quiet"});
  const fewest = el("button", {type: "button", onclick: () => hideFewest()}),
    restore = el(
      "button",
      {type: "button", onclick: () => app.go({hidden: new Set(), edited: new Map()}, {said: "All cells restored."})},
      "Restore all",
    );
  const previous = el("button", {type: "button", onclick: () => app.step(-1)}, "Previous row"),
    next = el("button", {type: "button", onclick: () => app.step(1)}, "Next row");
  const odd = facts.odd
    .slice(0, ODD_LISTED)
    .map((/** @type {any} */ r) =>
      el(
        "li",
        {},
        el(
          "button",
          {type: "button", class: "pick", onclick: () => app.go({row: r.row, hidden: new Set(), edited: new Map()})},
          el("strong", {}, `Row ${brief(r.name, 24)}`),
          ` p ${pValue(r.p)}`,
        ),
        el("p", {class: "quiet"}, r.reason),
      ),
    );
  const oddWords = facts.judged
    ? (facts.oddSentence ?? "Odd rows are found by the main job: lowdim report.")
    : "This model has no law of odd rows.";
  const controls = el(
    "div",
    {},
    searchField(app),
    el("div", {class: "pair"}, previous, next),
    el("h2", {}, "Odd rows"),
    el("p", {class: "quiet"}, oddWords),
    el("ol", {class: "odd"}, ...odd),
  );
  const mapBox = el("div", {class: "map-box small"});
  const view = el("div", {}, mapBox, panel.element);
  const inspector = el(
    "div",
    {},
    el("h2", {}, "This row"),
    sentence,
    where,
    gauges,
    el("div", {class: "pair"}, fewest, restore),
    fills,
  );
  /** @type {any} */ let card = null;

  const columnOf = (/** @type {string} */ name) => app.cells.findIndex((/** @type {any} */ c) => c.name === name);
  const hideFewest = () => {
    if (!card?.hide.length)
      return app.say(
        facts.judged ? `Row ${card?.name} is ordinary: there is nothing to hide.` : "This model has no law of odd rows: nothing to hide.",
      );
    const hidden = new Set(app.state.hidden);
    for (const name of card.hide) hidden.add(columnOf(name));
    app.go({hidden}, {said: `Hidden: ${card.hide.join(", ")}.`});
  };

  const gauge = (
    /** @type {string} */ name,
    /** @type {string} */ about,
    /** @type {number | null} */ value,
    /** @type {number} */ dof,
    /** @type {number | null} */ p,
  ) => {
    const bar = el("span", {class: p !== null && p < facts.oddRate ? "far" : ""}),
      share = p === null ? 0 : Math.min(1, -Math.log10(Math.max(p, 1e-8)) / 8);
    bar.style.width = `${100 * share}%`;
    return el(
      "div",
      {class: "gauge"},
      el("span", {}, el("strong", {}, name), ` ${about}`),
      el("span", {class: "n"}, value === null ? "not defined" : `${value.toFixed(1)} on ${dof}, p ${pValue(p ?? 1)}`),
      el("span", {class: "track", "aria-hidden": "true"}, bar),
    );
  };

  const paint = async () => {
    const {row, hidden, edited} = app.state,
      found = await app.source.json("card", {row, hidden: [...hidden], edited: [...edited]});
    if (row !== app.state.row || hidden !== app.state.hidden || edited !== app.state.edited) return;
    app.mapInto(mapBox);
    card = found;
    panel.show(String(row), card, hidden, edited);
    sentence.textContent = app.short(card.sentence);
    where.textContent =
      placeWords(card) +
      app.rows.apart(row) + (hidden.size ? ` (${figures(grown(), 3)} times the ellipse of the whole row)` : "");
    gauges.replaceChildren(
      ...(card.D2 === null
        ? [el("p", {class: "quiet"}, `${lawWords(card)}${rank()}`)]
        : [
            gauge("D2", "in all", card.D2, card.seen, card.pD2),
            gauge("T2", "within the map", card.T2, card.dof, card.pT2),
            gauge("Q", "off the map", card.Q, card.seen - card.dof, card.pQ),
          ]),
    );
    fewest.hidden = !card.hide.length;
    fewest.textContent =
      card.hide.length === 1
        ? `Hide ${brief(card.hide[0], 20)}: ordinary then`
        : `Hide the ${card.hide.length} cells that make it odd`;
    restore.hidden = !hidden.size && !edited.size;
    paintFills();
    app.numbers = {
      D2: card.D2,
      p: card.p,
      T2: card.T2,
      Q: card.Q,
      z: card.z,
      cov: card.cov,
      logDensity: card.logDensity,
      expected: card.cells.map((/** @type {any} */ c) => c.expected),
      sd: card.cells.map((/** @type {any} */ c) => c.sd),
      surprise: card.cells.map((/** @type {any} */ c) => c.surprise),
      chance: card.cells.map((/** @type {any} */ c) => c.chance ?? null),
      most: card.cells.map((/** @type {any} */ c) => c.most ?? null),
    };
    app.say(`${app.said ?? ""} ${card.sentence} ${lawWords(card)}. ${placeWords(card)}.`);
    app.map.draw();
  };

  /** How likely the row is beside the others. */
  const rank = () =>
    card.likelier === null ? "" : `; likelier than ${Math.round(100 * card.likelier)}% of the rows (with all their cells)`;

  const area = (/** @type {any} */ c) => {
    const q = c.z.length;
    return q > 1 ? Math.sqrt(Math.max(c.cov[0] * c.cov[q + 1] - c.cov[1] ** 2, 0)) : Math.sqrt(c.cov[0] ?? 0);
  };
  const grown = () => area(card) / (area(card.whole) || 1);

  const paintFills = () => {
    const entries = Object.entries(card.fills),
      engines = [...new Set(entries.map(([, fill]) => fill.by))].join(" and "),
      held = card.held.filter((/** @type {string} */ name) => !app.state.hidden.has(columnOf(name)));
    fills.replaceChildren(
      ...(held.length
        ? [
            el(
              "p",
              {class: "quiet"},
              `Held out of the fit because ${held.length === 1 ? "it contradicts" : "they contradict"} the rest: ${held.map((/** @type {string} */ name) => brief(name)).join(", ")}. The report's map shows the row without ${held.length === 1 ? "it" : "them"}.`,
            ),
          ]
        : []),
      ...(entries.length
        ? [
            el(
              "h3",
              {},
              `${counted(entries.length, "gap")} in the table, as the run fills ${entries.length === 1 ? "it" : "them"}`,
            ),
            el(
              "p",
              {class: "quiet"},
              `By ${engines}, checked on hidden cells. "The rest says" beside a gap is the map's own model, which may say something else.`,
            ),
            el(
              "ul",
              {},
              ...entries
                .slice(0, 12)
                .map(([name, fill]) => el("li", {}, `${brief(name)} ${fillWords(fill)}`)),
            ),
          ]
        : []),
    );
  };

  /** The row where it is now, with its ellipse; and where it was with all its cells. */
  const overlay = (
    /** @type {CanvasRenderingContext2D} */ context,
    /** @type {import("./scatter.js").Scatter} */ map,
  ) => {
    if (!card || !app.latent) return;
    const [a, b] = app.latent,
      q = card.z.length,
      part = (/** @type {any} */ c) =>
        /** @type {[number, number, number]} */ ([c.cov[a * q + a], c.cov[a * q + b], c.cov[b * q + b]]);
    const touched = app.state.hidden.size || app.state.edited.size;
    if (touched) {
      context.strokeStyle = ink("--quiet", map.element);
      context.lineWidth = 1.5;
      context.setLineDash([4, 4]);
      map.ellipse(context, card.whole.z[a], card.whole.z[b], part(card.whole));
      context.setLineDash([]);
      context.beginPath();
      context.moveTo(...map.at(card.whole.z[a], card.whole.z[b]));
      context.lineTo(...map.at(card.z[a], card.z[b]));
      context.stroke();
    }
    context.strokeStyle = ink("--accent", map.element);
    context.fillStyle = ink("--accent", map.element);
    context.lineWidth = 2.5;
    map.ellipse(context, card.z[a], card.z[b], part(card));
    const [x, y] = map.at(card.z[a], card.z[b]);
    context.beginPath();
    context.arc(x, y, 5, 0, 2 * Math.PI);
    context.fill();
    app.tag(context, x, y, brief(card.name, 24));
  };

  const note = () =>
    app.latent
      ? "Ellipse: where this row lies given its seen cells, 90%. Dashed: with all its cells. Hollow points: rows with gaps."
      : "Hollow points: rows with gaps.";

  const command = () => {
    const {row, hidden, edited} = app.state,
      columns = app.cells,
      word = app.rows.wordOf(row),
      parts = ["lowdim", "explain", facts.run, `--row=${word}`];
    if (!facts.run || !facts.judged || word === null) return "";
    if (hidden.size) parts.push(`--hide=${joinNames([...hidden].map(j => columns[j].name))}`);
    edited.forEach((/** @type {number} */ value, /** @type {number} */ j) => {
      if (!hidden.has(j)) parts.push(`--set=${columns[j].name}=${value}`);
    });
    return parts.map(shellWord).join(" ");
  };
  const python = () => {
    const {row, hidden, edited} = app.state,
      columns = app.cells;
    const names = `[${[...hidden].map(j => pythonText(columns[j].name)).join(", ")}]`;
    const values = `{${[...edited]
      .filter(([j]) => !hidden.has(j))
      .map(([j, v]) => `${pythonText(columns[j].name)}: ${typeof v === "string" ? pythonText(v) : v}`)
      .join(", ")}}`;
    if (facts.judged)
      return `${app.pythonSubject()}\ncard = subject.explain(${row}, hidden=${names}, edited=${values})\nprint(card.text())`;
    const changes = [
      ...[...hidden].map(j => `row[${j}] = np.nan`),
      ...[...edited]
        .filter(([j]) => !hidden.has(j))
        .map(([j, v]) => `row[${j}] = ${columns[j].offset === null ? v : `np.log(${v} + ${columns[j].offset})`}`),
    ];
    return [
      app.pythonSubject(),
      ...(changes.some(line => line.includes("np.")) ? ["import numpy as np"] : []),
      `row = subject.table.X[${row}].copy()`,
      ...changes,
      "posterior = subject.model.posterior((row / subject.unit)[None])",
      "print(posterior.mean, posterior.std)",
    ].join("\n");
  };
  const beside = () =>
    app.rows.wordOf(app.state.row) === null
      ? "Another row has this row's name, and its number is a name too: only the view and the Python tell them apart."
      : "";
  return {
    beside,
    name: "Row",
    controls,
    view,
    inspector,
    paint,
    overlay,
    note,
    command,
    python,
    panel,
    card: () => card,
    hideFewest,
  };
}
