// Hide-a-cell inside a report: a row to choose, its card, and the map on which its point and ellipse move.
import {RowLaw} from "./laws.js";
import {unpacked} from "./packed.js";
import {LinearGaussian} from "./posterior.js";
import {rowCard} from "./row_card.js";
import {lawWords, placeWords, rowPanel} from "./row_panel.js";
import {el} from "./words.js";

const CHI2_90 = 4.605170185988092; // of two degrees of freedom

/** @param {any} host holds the numbers in data-touch */
function touchable(host) {
  const facts = unpacked(JSON.parse(host.dataset.touch)),
    d = facts.columns.length,
    q = facts.axes,
    n = facts.places.length / 2;
  const model = new LinearGaussian(facts.model, facts.judge),
    law = new RowLaw(facts.law);
  const row = (/** @type {number} */ i) =>
    Float64Array.from({length: d}, (_, j) => facts.rows[i * d + j] / facts.scale[j] + facts.shift[j]);
  const state = {row: facts.first, hidden: new Set(), edited: new Map()};
  const field = el(
    "select",
    {
      id: "touch-row",
      onchange: () => {
        Object.assign(state, {row: Number(field.value), hidden: new Set(), edited: new Map()});
        paint("");
      },
    },
    ...facts.names.map((/** @type {string} */ name, /** @type {number} */ i) => el("option", {value: String(i)}, name)),
  );
  const says = el("p", {class: "say", role: "status", "aria-live": "polite"}),
    words = el("p"),
    canvas = el("canvas", {width: 860, height: 420, role: "img", "aria-label": "The map, the row and its 90% ellipse"});
  const panel = rowPanel(facts.columns, (hidden, edited, said) => {
    Object.assign(state, {hidden, edited});
    paint(said);
  });
  const map =
    q > 1
      ? el(
          "figure",
          {class: "touch-map"},
          canvas,
          el("figcaption", {}, "Ellipse: where the row lies given its seen cells, 90%. Dashed: with all its cells."),
        )
      : null;
  host.replaceChildren(
    el(
      "p",
      {},
      `Hide a cell, or write another value: what the rest of the row says, the row's place and its distances follow.${facts.names.length < facts.of ? ` Here are the ${facts.names.length.toLocaleString("en")} oddest of ${facts.of.toLocaleString("en")} rows; lowdim explore shows all.` : ""}`,
    ),
    el("p", {}, el("label", {}, "Row ", field)),
    words,
    says,
    map,
    panel.element,
  );
  host.hidden = false;

  const paint = (/** @type {string} */ said) => {
    const x = row(state.row),
      name = facts.names[state.row],
      card = rowCard(model, law, facts.rules, facts.columns, name, x, state.hidden, state.edited);
    field.value = String(state.row);
    panel.show(String(state.row), card, state.hidden, state.edited);
    words.textContent = card.sentence;
    says.textContent = `${said} ${lawWords(card)}. ${placeWords(card)}.`.trim();
    host.dataset.numbers = JSON.stringify({D2: card.D2, p: card.p, z: card.z});
    if (map) draw(card, model.place(x));
  };

  const ends = [0, 1].map(k => {
    let [low, high] = [Infinity, -Infinity];
    for (let i = 0; i < n; i++) {
      const z = facts.places[2 * i + k];
      low = Math.min(low, z);
      high = Math.max(high, z);
    }
    return [low - 0.1 * (high - low), high + 0.1 * (high - low)];
  });
  const at = (/** @type {number} */ x, /** @type {number} */ y) =>
    /** @type {[number, number]} */ ([
      (860 * (x - ends[0][0])) / (ends[0][1] - ends[0][0]),
      420 * (1 - (y - ends[1][0]) / (ends[1][1] - ends[1][0])),
    ]);
  const draw = (/** @type {any} */ card, /** @type {any} */ whole) => {
    const context = canvas.getContext("2d"),
      ink = (/** @type {string} */ name) => getComputedStyle(host).getPropertyValue(name);
    context.clearRect(0, 0, 860, 420);
    context.fillStyle = ink("--quiet");
    for (let i = 0; i < n; i++) {
      context.beginPath();
      context.arc(...at(facts.places[2 * i], facts.places[2 * i + 1]), 3, 0, 7);
      context.fill();
    }
    for (const [c, dash, colour] of /** @type {[any, number[], string][]} */ ([
      [whole, [6, 6], ink("--quiet")],
      [card, [], ink("--no")],
    ])) {
      const root = Math.sqrt(c.cov[0]),
        across = c.cov[1] / root,
        up = Math.sqrt(Math.max(c.cov[q + 1] - across * across, 0)),
        r = Math.sqrt(CHI2_90);
      context.strokeStyle = context.fillStyle = colour;
      context.lineWidth = 3;
      context.setLineDash(dash);
      context.beginPath();
      for (let k = 0; k <= 72; k++) {
        const [u, v] = [r * Math.cos((k * Math.PI) / 36), r * Math.sin((k * Math.PI) / 36)];
        context.lineTo(...at(c.z[0] + root * u, c.z[1] + across * u + up * v));
      }
      context.stroke();
      context.setLineDash([]);
      context.beginPath();
      context.arc(...at(c.z[0], c.z[1]), 6, 0, 7);
      context.fill();
    }
  };
  paint("");
}

document.querySelectorAll("[data-touch]").forEach(touchable);
