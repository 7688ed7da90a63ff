// Gaps: what a fill could be, and the columns it leaned on.
import {field, numbersRow, pickList} from "./controls.js";
import {svg} from "./draw.js";
import {chi2Upper} from "./laws.js";
import {HALF_90, inwardOf, outwardOf} from "./row_card.js";
import {fillWords} from "./screen_row.js";
import {brief, counted, el, figures, figuresBySd, general, named, percent, shellWord} from "./words.js";

const GAPS_LISTED = 60,
  LEANED = 12,
  BINS = 30,
  CURVE = 121; // points of a curve

/** Standard deviations on each side that hold this share of a Gaussian, by halving. @param {number} level */
function halfWidth(level) {
  let low = 0,
    high = 10;
  for (let k = 0; k < 50; k++) {
    const middle = (low + high) / 2;
    chi2Upper(1, middle * middle) > 1 - level ? (low = middle) : (high = middle);
  }
  return low;
}

/** The density of a fill in the table's units: a Gaussian each side of it, as wide as its interval, on the model's scale.
 * @param {import("./row_card.js").Column} column @param {number} low @param {number} fill @param {number} high @param {number} level */
export function fillDensity(column, low, fill, high, level) {
  const half = halfWidth(level),
    [a, m, b] = [low, fill, high].map(v => inwardOf(column, v)),
    sides = [(m - a) / half, (b - m) / half].map(sd => (sd > 0 && Number.isFinite(sd) ? sd : 0));
  return (/** @type {number} */ v) => {
    const y = inwardOf(column, v),
      sd = sides[y < m ? 0 : 1];
    if (!(sd > 0) || !Number.isFinite(y)) return 0;
    return Math.exp(-0.5 * ((y - m) / sd) ** 2) / (column.offset === null ? 1 : v + column.offset);
  };
}

/** @param {any} app */
export function gapsScreen(app) {
  const {facts} = app;
  if (!app.places) return null;
  const column = el("select", {onchange: (/** @type {any} */ e) => app.go({gap: [Number(e.target.value), -1]})}),
    rows = el("div"),
    about = el("p", {class: "quiet"});
  const controls = el(
    "div",
    {},
    field("Column with gaps", column),
    about,
    el("h2", {}, "Rows with a gap there"),
    rows,
  );
  const picture = el("div", {class: "chart"}),
    leaned = el("div"),
    view = el("div", {}, picture, leaned),
    sentence = el("p", {class: "lead"}),
    more = el("p"),
    inspector = el("div", {}, el("h2", {}, "This fill"), sentence, more);
  /** @type {number[] | null} */ let counts = null;
  /** @type {[number, number] | null} */ let shown = null; // row and column of the fill

  const prepare = async () => {
    if (counts) return;
    counts = facts.cells?.map((/** @type {any} */ c) => c.gaps) ?? [];
    for (let j = facts.cells ? facts.columns.length : 0; j < facts.columns.length; j++)
      /** @type {number[]} */ (counts).push(
        (await app.data.numbers(`column/${j}`)).reduce(
          (/** @type {number} */ s, /** @type {number} */ v) => s + (Number.isNaN(v) ? 1 : 0),
          0,
        ),
      );
    column.replaceChildren(
      .../** @type {number[]} */ (counts).map((many, j) =>
        many ? el("option", {value: String(j)}, `${brief(app.cells[j].name, 30)} (${counted(many, "gap")})`) : "",
      ),
    );
  };

  const paint = async () => {
    await prepare();
    const having = /** @type {number[]} */ (counts).findIndex(many => many > 0);
    if (having < 0) {
      sentence.textContent = "No gaps: nothing to fill.";
      app.numbers = {};
      return app.say(`${app.said} No gaps: nothing to fill.`);
    }
    const j = app.state.gap?.[0] ?? having,
      values = await app.data.numbers(`column/${app.cells[j].number ?? j}`),
      where = [];
    for (let i = 0; i < facts.n && where.length < GAPS_LISTED; i++) if (Number.isNaN(values[i])) where.push(i);
    const i = app.state.gap?.[1] >= 0 ? app.state.gap[1] : where[0];
    column.value = String(j);
    const fact = facts.fills?.find((/** @type {any} */ f) => f.column === app.cells[j].name);
    about.textContent = fact
      ? `Skill ${fact.skill === null ? "not known" : general(fact.skill, 2)}; intervals held ${fact.held} of ${fact.tried} hidden cells: ${fact.advice}.`
      : "";
    rows.replaceChildren(
      pickList(
        where.map(k => ({text: `Row ${brief(app.nameOf(k), 24)}`, pick: () => app.go({gap: [j, k]}), current: k === i})),
      ),
    );
    shown = [i, j];
    await (facts.cells ? answered(i, j, values) : one(i, j, values));
  };

  /** A gap of a map of answers: all answers with their chances, or a number with its interval. */
  const answered = async (/** @type {number} */ i, /** @type {number} */ k, /** @type {ArrayLike<number>} */ values) => {
    const c = app.cells[k],
      gap = app.unpacked(await app.source.json(`gap/${k},${i}.json`)),
      words = gap.word !== undefined,
      ours = fillWords(gap.own),
      order = [...app.cells.keys()]
        .filter(j => gap.leans[j])
        .sort((a, b) => Math.abs(gap.leans[b]) - Math.abs(gap.leans[a]))
        .slice(0, LEANED);
    const first = order.slice(0, 3).map(j => brief(app.cells[j].name)).join(", ");
    sentence.textContent = `Row ${brief(app.nameOf(i))}, ${brief(c.name)}: ${fillWords(gap)}.${first ? ` The map leans on ${first}.` : ""}`;
    about.textContent ||= gap.about ?? "";
    more.textContent = `The fill is the run's, by ${gap.by}. The map's own model, which Row shows too, says ${ours}.`;
    app.numbers = {...gap, shares: words ? Array.from(gap.shares) : null, own: gap.own.chance ?? gap.own.value, leans: Array.from(gap.leans)};
    picture.replaceChildren(
      words
        ? el(
            "table",
            {class: "leans"},
            el("caption", {}, `How likely each answer is, by ${gap.by}`),
            el("tbody", {}, ...gap.words.map((/** @type {string} */ word, /** @type {number} */ t) => barRow(brief(word, 40), percent(gap.shares[t]), 0, gap.shares[t]))),
          )
        : histogram(c, c.number, values, gap.low, gap.value, gap.high, facts.level),
    );
    const widest = Math.abs(gap.leans[order[0]] ?? 1),
      chance = gap.own.word !== undefined;
    leaned.replaceChildren(
      el("h2", {}, "What the map leaned on"),
      el(
        "table",
        {class: "leans"},
        el("caption", {}, chance ? `How much likelier ${gap.own.word} is by each cell, in points of 100` : `How far each cell moves ${ours}${c.offset === null ? "" : ", on the scale of logarithms"}`),
        el("tbody", {}, ...order.map(j => leanRow(app.cells[j].name, gap.leans[j] * (chance ? 100 : 1), widest * (chance ? 100 : 1)))),
      ),
    );
    app.say(`${app.said} ${sentence.textContent}`);
  };

  /** A line of a bar that begins so far along. @param {string | HTMLElement} name @param {string} value @param {number} from @param {number} share */
  const barRow = (name, value, from, share, kind = "track") => {
    const bar = el("span", {class: "band"}),
      line = numbersRow(/** @type {string} */ (name), value);
    bar.style.left = `${100 * from}%`;
    bar.style.width = `${100 * share}%`;
    line.append(el("td", {class: "wide"}, el("div", {class: kind, "aria-hidden": "true"}, bar)));
    return line;
  };
  /** @param {string} name @param {number} lean @param {number} widest */
  const leanRow = (name, lean, widest) => {
    const share = Math.abs(lean) / widest / 2;
    return barRow(named(name, 40), lean > 0 ? `+${figures(lean, 2)}` : figures(lean, 2), lean < 0 ? 0.5 - share : 0.5, share, "track middle");
  };

  const one = async (/** @type {number} */ i, /** @type {number} */ j, /** @type {ArrayLike<number>} */ values) => {
    const given = await app.data.row(i),
      x = app.unpacked(given.x),
      c = facts.columns[j],
      own = (/** @type {number} */ v) => outwardOf(c, v);
    x[j] = NaN;
    const judged = app.model.surprise(x),
      middle = judged.expected[j],
      sd = judged.sd[j],
      stored = given.fills[c.name];
    const [fill, low, high] = stored ?? [own(middle), own(middle - HALF_90 * sd), own(middle + HALF_90 * sd)];
    const leans = app.model.leans(x, j),
      order = [...facts.columns.keys()]
        .filter(k => k !== j && leans[k])
        .sort((a, b) => Math.abs(leans[b]) - Math.abs(leans[a]))
        .slice(0, LEANED);
    const first = order
      .slice(0, 3)
      .map(k => brief(facts.columns[k].name))
      .join(", ");
    const level = stored ? facts.level : 0.9,
      ours = figuresBySd(own(middle), sd);
    sentence.textContent = `Row ${brief(given.name)}, ${brief(c.name)}: ${figures(fill, 4)} (${figures(low, 4)} to ${figures(high, 4)}, ${Math.round(100 * level)}%).${first ? ` The map's model leans on ${first}.` : ""}`;
    more.textContent = stored
      ? `Two models speak here. The fill and its interval are the run's, by ${facts.filledBy}, checked on hidden cells. The map's own model, which Row shows too, says ${ours}; what it leaned on is listed below the picture and leads to that number.`
      : "The fill and its interval are the map's own model.";
    app.numbers = {fill, low, high, expected: own(middle), leans: Array.from(leans)};
    picture.replaceChildren(histogram(c, j, values, low, fill, high, level));
    const widest = Math.abs(leans[order[0]] ?? 1);
    leaned.replaceChildren(
      el("h2", {}, "What the map's model leaned on"),
      el(
        "table",
        {class: "leans"},
        el(
          "caption",
          {},
          app.model.kind === "linear"
            ? `How far each cell moves it from the average to ${ours}${c.offset === null ? "" : ", on the scale of logarithms"}`
            : `How far ${ours} moves when each cell is hidden${c.offset === null ? "" : ", on the scale of logarithms"}`,
        ),
        el(
          "tbody",
          {},
          ...order.map(k => leanRow(facts.columns[k].name, leans[k], widest)),
        ),
      ),
    );
    app.say(`${app.said} ${sentence.textContent}`);
  };

  const histogram = (
    /** @type {any} */ c,
    /** @type {number} */ j,
    /** @type {ArrayLike<number>} */ values,
    /** @type {number} */ low,
    /** @type {number} */ fill,
    /** @type {number} */ high,
    /** @type {number} */ level,
  ) => {
    const own = Array.from(values)
        .filter(v => !Number.isNaN(v))
        .map(v => outwardOf(c, app.data.inUnits(j, v))),
      from = own.reduce((a, b) => Math.min(a, b), low),
      to = own.reduce((a, b) => Math.max(a, b), high),
      bins = new Array(BINS).fill(0);
    for (const v of own) bins[Math.min(BINS - 1, Math.floor(((v - from) / (to - from || 1)) * BINS))]++;
    const top = Math.max(...bins),
      x = (/** @type {number} */ v) => 20 + (600 * (v - from)) / (to - from || 1);
    const density = fillDensity(c, low, fill, high, level),
      at = Array.from({length: CURVE}, (_, k) => from + ((to - from) * k) / (CURVE - 1))
        .concat(Array.from({length: CURVE}, (_, k) => low + ((high - low) * k) / (CURVE - 1)), fill)
        .sort((a, b) => a - b),
      heights = at.map(density),
      most = Math.max(...heights) || 1;
    return svg(
      "svg",
      {viewBox: "0 0 640 190", role: "img", class: "histogram"},
      svg("title", {}, `The values of ${brief(c.name)}, the fill's distribution and its interval`),
      ...bins.map((many, k) =>
        svg("rect", {
          x: 20 + (600 * k) / BINS + 1,
          width: 600 / BINS - 2,
          y: 130 - (105 * many) / top,
          height: (105 * many) / top,
          class: "left",
        }),
      ),
      svg("line", {x1: 20, x2: 620, y1: 130, y2: 130, class: "zero"}),
      svg("polyline", {points: at.map((v, k) => `${x(v).toFixed(1)},${(130 - (100 * heights[k]) / most).toFixed(1)}`).join(" "), class: "density"}),
      svg("line", {x1: x(low), x2: x(high), y1: 145, y2: 145, class: "interval"}),
      svg("circle", {cx: x(fill), cy: 145, r: 6, class: "fill"}),
      svg("text", {x: 20, y: 180}, figures(from, 4)),
      svg("text", {x: 620, y: 180, "text-anchor": "end"}, figures(to, 4)),
      svg(
        "text",
        {x: Math.min(Math.max(x(fill), 130), 510), y: 168, "text-anchor": "middle"},
        `fill ${figures(fill, 4)}`,
      ),
      svg("text", {x: 20, y: 18}, `${brief(c.name, 30)}: bars, values seen; curve, the fill; line, ${Math.round(100 * level)}%`),
    );
  };
  const command = () => {
    const word = shown && app.rows.wordOf(shown[0]);
    return facts.run && facts.law && word !== null ? ["lowdim", "explain", facts.run, `--row=${word}`].map(shellWord).join(" ") : "";
  };
  const python = () => {
    if (!shown) return `${app.pythonSubject()}\nprint(subject.table.X.shape)  # no gaps`;
    const [i, j] = shown,
      row = `row = subject.table.X[${i}] / subject.unit\ncells = subject.model.predict_cells(row[None])`;
    return facts.law
      ? `${app.pythonSubject()}\ncard = subject.explain(${i})\nprint(card.text())`
      : `${app.pythonSubject()}\n${row}\nfill = subject.table.scales.outward(cells.mean * subject.unit)[0, ${j}]\nprint(fill)`;
  };
  return {name: "Gaps", controls, view, inspector, paint, command, python};
}
