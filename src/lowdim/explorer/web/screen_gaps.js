// Gaps: what a fill could be, and the columns it leaned on.
import {field, numbersRow, pickList} from "./controls.js";
import {svg} from "./draw.js";
import {inwardOf, outwardOf} from "./row_panel.js";
import {fillWords} from "./screen_row.js";
import {brief, counted, el, figures, figuresBySd, general, named, percent, shellWord} from "./words.js";

const LEANED = 12,
  BINS = 30,
  CURVE = 121; // points of a curve

/** The density of a fill in the table's units: a Gaussian each side of it, as wide as its interval, on the model's scale.
 * @param {import("./row_panel.js").Column} column @param {{low: number, value: number, high: number, half: number}} fill half: its
 *   interval's width to each side, in standard deviations */
export function fillDensity(column, {low, value, high, half}) {
  const [a, m, b] = [low, value, high].map(v => inwardOf(column, v)),
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
  if (!facts.placed) return null;
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
  /** @type {[number, number] | null} */ let shown = null; // row and column of the fill
  column.append(
    ...app.cells.map((/** @type {any} */ c, /** @type {number} */ k) =>
      c.gaps ? el("option", {value: String(k)}, `${brief(c.name, 30)} (${counted(c.gaps, "gap")})`) : "",
    ),
  );

  const paint = async () => {
    const having = app.cells.findIndex((/** @type {any} */ c) => c.gaps > 0);
    if (having < 0) {
      sentence.textContent = "No gaps: nothing to fill.";
      app.numbers = {};
      return app.say(`${app.said} No gaps: nothing to fill.`);
    }
    const [k, at] = app.state.gap ?? [having, -1],
      gap = await app.source.json(`gap/${k}${at < 0 ? "" : `,${at}`}.json`),
      c = app.cells[k],
      answers = gap.word !== undefined,
      values = answers || c.number === null ? [] : await app.data.numbers(`column/${c.number}`);
    shown = [gap.row, k];
    column.value = String(k);
    const fact = facts.fills?.find((/** @type {any} */ f) => f.column === c.name);
    about.textContent = fact
      ? `Skill ${fact.skill === null ? "not known" : general(fact.skill, 2)}; intervals contain ${fact.held} of ${fact.tried} hidden cells: ${fact.advice}.`
      : (gap.about ?? "");
    rows.replaceChildren(
      pickList(
        Array.from(gap.rows, i => ({
          text: `Row ${brief(app.nameOf(i), 24)}`,
          pick: () => app.go({gap: [k, i]}),
          current: i === gap.row,
        })),
      ),
    );
    const order = [...app.cells.keys()]
        .filter(j => gap.leans[j])
        .sort((a, b) => Math.abs(gap.leans[b]) - Math.abs(gap.leans[a]))
        .slice(0, LEANED),
      first = order.slice(0, 3).map(j => brief(app.cells[j].name)).join(", "),
      level = answers ? "" : `, ${Math.round(100 * gap.level)}%`,
      ours = gap.own.word ?? figuresBySd(gap.own.value, gap.own.sd);
    sentence.textContent = `Row ${brief(app.nameOf(gap.row))}, ${brief(c.name)}: ${fillWords(gap, level)}.${first ? ` The map's model leans on ${first}.` : ""}`;
    more.textContent = gap.by
      ? `Two models speak here. The fill is the run's, by ${gap.by}, checked on hidden cells. The map's own model, which Row shows too, says ${fillWords(gap.own, "")}; what it leaned on is listed below the picture and leads to that.`
      : "The fill is the map's own model.";
    app.numbers = {
      word: gap.word ?? null,
      shares: gap.shares ?? null,
      fill: gap.value ?? null,
      low: gap.low ?? null,
      high: gap.high ?? null,
      expected: gap.own.value ?? gap.own.chance,
      leans: Array.from(gap.leans),
    };
    picture.replaceChildren(answers ? chances(gap) : histogram(c, values, gap));
    const widest = Math.abs(gap.leans[order[0]] ?? 1);
    leaned.replaceChildren(
      el("h2", {}, "What the map's model leaned on"),
      el(
        "table",
        {class: "leans"},
        el("caption", {}, `${gap.leansAbout} ${ours}${c.offset === null ? "" : ", on the scale of logarithms"}`),
        el("tbody", {}, ...order.map(j => leanRow(app.cells[j].name, gap.leans[j], widest))),
      ),
    );
    app.say(`${app.said} ${sentence.textContent}`);
  };

  /** All answers that a gap may hold. @param {any} gap */
  const chances = gap =>
    el(
      "table",
      {class: "leans"},
      el("caption", {}, `How likely each answer is, by ${gap.by || "the map's own model"}`),
      el(
        "tbody",
        {},
        ...gap.words.map((/** @type {string} */ word, /** @type {number} */ t) =>
          barRow(brief(word, 40), percent(gap.shares[t]), 0, gap.shares[t]),
        ),
      ),
    );

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

  /** The values of a column, the fill's distribution and its interval. @param {any} c @param {ArrayLike<number>} values
   * @param {{value: number, low: number, high: number, half: number, level: number}} gap */
  const histogram = (c, values, gap) => {
    const {value: fill, low, high, level} = gap;
    const own = Array.from(values)
        .filter(v => !Number.isNaN(v))
        .map(v => outwardOf(c, app.data.inUnits(c.number, v))),
      from = own.reduce((a, b) => Math.min(a, b), low),
      to = own.reduce((a, b) => Math.max(a, b), high),
      bins = new Array(BINS).fill(0);
    for (const v of own) bins[Math.min(BINS - 1, Math.floor(((v - from) / (to - from || 1)) * BINS))]++;
    const top = Math.max(...bins) || 1,
      x = (/** @type {number} */ v) => 20 + (600 * (v - from)) / (to - from || 1);
    const density = fillDensity(c, gap),
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
    return facts.run && facts.judged && word !== null ? ["lowdim", "explain", facts.run, `--row=${word}`].map(shellWord).join(" ") : "";
  };
  const python = () => {
    if (!shown) return `${app.pythonSubject()}\nprint(subject.table.X.shape)  # no gaps`;
    const [i, j] = shown,
      row = `row = subject.table.X[${i}] / subject.unit\ncells = subject.model.predict_cells(row[None])`;
    return facts.judged
      ? `${app.pythonSubject()}\ncard = subject.explain(${i})\nprint(card.text())`
      : `${app.pythonSubject()}\n${row}\nfill = subject.table.scales.outward(cells.mean * subject.unit)[0, ${j}]\nprint(fill)`;
  };
  return {name: "Gaps", controls, view, inspector, paint, command, python};
}
