// Place: drag a cross on the map and read the row that lives there, with its band; play the way between two rows or groups.
import {FRAMES} from "./address.js";
import {button, dataTable, field, numbersRow, pickList} from "./controls.js";
import {ink, svg} from "./draw.js";
import {filmControls} from "./film.js";
import {formOf, pictureOf} from "./pictures.js";
import {HALF_90, outwardOf} from "./row_card.js";
import {brief, el, figures, figuresBySd, named, percent, shellWord, signed} from "./words.js";

const CELLS_LISTED = 40,
  NAMED_BARS = 40, // columns whose names stand below their bars
  STILLS = 5, // of a film, side by side
  LEAST_PROFILE = 8;

/** @param {any} app */
export function placeScreen(app) {
  const {facts} = app;
  if (!app.model && !facts.cells) return null; // no decoder: no row lives anywhere
  const film = filmControls(app),
    mapBox = el("div", {class: "map-box"}),
    picture = el("div", {class: "picture"}),
    stills = el("div", {class: "stills"}),
    view = el("div", {class: "grow"}, mapBox, picture, stills);
  const width = el("input", {
    type: "number",
    min: 0,
    max: facts.columns.length,
    onchange: () => {
      const wide = width.value === "" ? null : Number(width.value),
        fits = wide === null || (Number.isInteger(wide) && wide >= 0 && wide <= facts.columns.length);
      if (fits) app.go({wide});
      else app.go({}, {said: `The width is a whole number from 0 to ${facts.columns.length}: nothing was changed.`});
    },
  });
  const how = el("p", {class: "quiet"});
  const sliders = el("div");
  const controls = el(
    "div",
    {},
    how,
    el(
      "div",
      {class: "pair"},
      button("Go to the chosen row", () => toRow(app.state.row)),
      button("Go to the middle", () => app.go({place: Array(facts.q).fill(0)})),
    ),
    sliders,
    film.element,
    el("h2", {}, "Picture"),
    field("Columns as an image so many pixels wide (0: no picture)", width),
  );
  const sentence = el("p", {class: "lead"}),
    warning = el("p", {class: "warning", role: "alert", hidden: true}),
    near = el("div"),
    body = el("tbody"),
    table = facts.cells
      ? dataTable(
          "What lives here, farthest from the average first: the likeliest answer, its chance here and its share of all rows; of numbers the mean, the band of 90% of new cells, and how far off the average that is",
          ["column", "here", "chance or band", "in all rows"],
          body,
        )
      : dataTable(
          "What lives here, farthest from the average first; 90% of new cells lie in the band",
          ["column", "value", "90% band", "off average"],
          body,
        ),
    inspector = el("div", {}, el("h2", {}, "The row that lives here"), sentence, warning, near, table);
  let busy = false,
    wanted = false,
    pictured = "",
    asked = false;
  /** @type {any} */ let shade = null;

  const z = () => {
    const {place, along} = app.state;
    return place ?? (film.ends() ? film.at(along / FRAMES) : Array(facts.q).fill(0));
  };
  const move = (/** @type {number} */ x, /** @type {number} */ y, /** @type {boolean} */ push) => {
    const place = [...z()],
      [a, b] = app.shownAxes;
    if (a === null && b === null) return app.say(howWords());
    if (b !== null) place[b] = y;
    if (a !== null) place[a] = x;
    app.go({place}, {push});
  };
  /** How the place is moved on this map, which may show both axes, one or none. */
  const howWords = () => {
    const many = app.shownAxes.filter((/** @type {any} */ k) => k !== null).length;
    if (!many) return "The map shows no axis to drag along: move the sliders, or choose axes on Map.";
    return `Drag the ${many === 2 ? "cross" : "line"} on the map, or move it with the arrow keys (with Shift further).`;
  };
  const toRow = async (/** @type {number} */ i) => {
    const all = await Promise.all(Array.from({length: facts.q}, (_, k) => app.data.numbers(`axis/${k}`)));
    app.go({place: all.map(column => column[i])});
  };

  /** The cells that live at a place, in the table's order and units; those of answers are asked for. @param {number[]} place */
  const cellsAt = async place => {
    if (facts.cells) return app.source.json(`at/${place.join(",")}.json`);
    const {mean, sd} = app.model.decode(place);
    return facts.columns.map((/** @type {any} */ c, /** @type {number} */ j) => {
      const own = (/** @type {number} */ v) => outwardOf(c, v),
        half = sd ? HALF_90 * sd[j] : 0;
      return {
        name: c.name,
        value: own(mean[j]),
        low: own(mean[j] - half),
        high: own(mean[j] + half),
        banded: sd !== null,
        off: (mean[j] - facts.middle[j]) / facts.spread[j],
        reach: half / facts.spread[j],
        sd: sd ? (own(mean[j] + half) - own(mean[j] - half)) / (2 * HALF_90) : facts.spread[j],
      };
    });
  };

  /** @param {any} c */
  const answerRow = c =>
    c.word === undefined
      ? numbersRow(named(c.name, 40), figuresBySd(c.value, c.sd, 3), `${figures(c.low, 3)} to ${figures(c.high, 3)}`, `${signed(c.off)} sd`)
      : numbersRow(named(c.name, 40), brief(c.word, 24), percent(c.chance), percent(c.usual));

  const paint = async () => {
    app.mapInto(mapBox);
    how.textContent = howWords();
    await film.paint();
    const place = z(),
      found = await cellsAt(place),
      cells = found.cells ?? found,
      order = [...cells].sort((a, b) => Math.abs(b.off) - Math.abs(a.off));
    body.replaceChildren(
      ...order
        .slice(0, CELLS_LISTED)
        .map(c =>
          facts.cells ? answerRow(c) : numbersRow(
            named(c.name, 40),
            figuresBySd(c.value, c.sd, 3),
            c.banded ? `${figures(c.low, 3)} to ${figures(c.high, 3)}` : "not known",
            `${signed(c.off)} sd`,
          ),
        ),
    );
    const first = order
      .slice(0, 3)
      .map(c => `${brief(c.name, 24)} ${c.word === undefined ? figuresBySd(c.value, c.sd, 3) : `${c.word} (${percent(c.chance)})`}`)
      .join(", ");
    sentence.textContent = `At ${place
      .slice(0, 4)
      .map((/** @type {number} */ v, /** @type {number} */ k) => `axis ${k + 1} ${signed(v, 2)}`)
      .join(", ")}: ${first}.`;
    app.numbers = {
      z: place,
      mean: cells.map((/** @type {any} */ c) => c.value),
      low: cells.map((/** @type {any} */ c) => c.low),
      high: cells.map((/** @type {any} */ c) => c.high),
      word: cells.map((/** @type {any} */ c) => c.word ?? null),
      chance: cells.map((/** @type {any} */ c) => c.chance ?? null),
      density: app.model?.density(place) ?? null,
    };
    paintSliders(place);
    await paintPicture(found.numbers ?? found);
    app.map.draw();
    if (!film.playing()) ask();
  };

  const paintSliders = (/** @type {number[]} */ place) => {
    const others = place
      .map((_, k) => k)
      .filter(k => !app.shownAxes.includes(k))
      .slice(0, 12);
    const known = [...sliders.querySelectorAll("input")].map((/** @type {any} */ i) => i.dataset.axis).join();
    if (known !== others.join())
      sliders.replaceChildren(
        ...others.map(k =>
          field(
            `Axis ${k + 1}`,
            el("input", {
              type: "range",
              min: -3,
              max: 3,
              step: 0.05,
              "data-axis": String(k),
              oninput: (/** @type {any} */ e) => {
                const next = [...z()];
                next[k] = Number(e.target.value) * facts.axes[k].width;
                app.go({place: next}, {push: false});
              },
              onchange: () => app.go({}),
            }),
          ),
        ),
      );
    for (const input of /** @type {any} */ (sliders.querySelectorAll("input")))
      input.value = place[Number(input.dataset.axis)] / facts.axes[Number(input.dataset.axis)].width;
  };

  /** The nearest rows and whether any row has been here; one question at a time. */
  const ask = async () => {
    if (busy) {
      wanted = true;
      return;
    }
    busy = true;
    const before = app.spoken;
    try {
      const answer = await app.source.json(`near/${z().join(",")}.json`);
      near.replaceChildren(
        el("h3", {}, "Nearest rows, over all columns"),
        pickList(
          answer.near.map((/** @type {any} */ r) => ({
            text: `Row ${brief(r.name, 24)}`,
            pick: () => app.go({screen: app.rowScreen, row: r.row, hidden: new Set(), edited: new Map()}),
            beside: ` ${figures(r.far, 2)} sd a cell away`,
          })),
        ),
      );
      warning.hidden = answer.been;
      warning.textContent = answer.been ? "" : "No row has been here: what is shown is the model's guess alone.";
      const rows = answer.near
        .slice(0, 2)
        .map((/** @type {any} */ r) => `row ${r.name}`)
        .join(" and ");
      if (app.spoken === before) // else something newer has been said
        app.say(`${app.said} ${sentence.textContent} ${warning.textContent} ${pictured} Nearest: ${rows}.`);
    } catch {
      near.replaceChildren();
    }
    busy = false;
    if (wanted) {
      wanted = false;
      ask();
    }
  };

  /** What the columns form; where they form nothing, each with its band. @param {any[]} cells */
  const paintPicture = async cells => {
    const form = formOf(facts, app.state.wide),
      ends = film.ends();
    width.value = app.state.wide === null ? (form?.kind === "image" ? String(form.width) : "") : String(app.state.wide);
    pictured = "";
    if (!form) {
      stills.replaceChildren();
      return picture.replaceChildren(...(app.state.wide === 0 || facts.cells ? [] : profile(cells)));
    }
    const drawn = pictureOf(facts, form, cells);
    pictured = `It looks like ${drawn.words}.`;
    picture.replaceChildren(drawn.element, el("p", {class: "quiet note"}, `${drawn.words[0].toUpperCase()}${drawn.words.slice(1)}.`));
    stills.replaceChildren(
      ...(ends
        ? await Promise.all(
            Array.from({length: STILLS}, async (_, k) => {
              const share = k / (STILLS - 1),
                words = k === 0 ? ends[0].words : k === STILLS - 1 ? ends[1].words : `${Math.round(100 * share)}%`;
              const there = await cellsAt(film.at(share)),
                shown = there.numbers ?? there;
              const {element} = pictureOf(facts, form, shown, words);
              return el("figure", {}, element, el("figcaption", {}, brief(words, 18)));
            }),
          )
        : []),
    );
  };

  /** Columns that form nothing: a band and a mark each, in spreads from the average. @param {any[]} cells */
  const profile = cells => {
    if (cells.length < LEAST_PROFILE) return [];
    const most = Math.max(2, ...cells.map(c => Math.abs(c.off))),
      step = 580 / cells.length,
      y = (/** @type {number} */ v) => 60 - (50 * Math.max(-most, Math.min(most, v))) / most;
    const names = cells.length <= NAMED_BARS,
      longest = Math.max(...cells.map(c => brief(c.name, 16).length)),
      words = `Each column in spreads from its average: mark, and band of 90%${names ? "" : "; point at one for its name"}.`;
    return [
      svg(
        "svg",
        {viewBox: names ? `-40 0 640 ${130 + 6.5 * longest}` : "0 0 600 120", role: "img", class: "curve"},
        svg("title", {}, words),
        svg("line", {x1: 10, x2: 590, y1: 60, y2: 60, class: "zero"}),
        ...cells.flatMap((c, j) => {
          const [low, high, x] = [y(c.off - c.reach), y(c.off + c.reach), 10 + j * step],
            middle = x + step / 2,
            name = svg("title", {}, brief(c.name, 60));
          return [
            svg("rect", {x: x + 0.1 * step, width: 0.8 * step, y: high, height: Math.max(low - high, 1), class: "band"}, name),
            svg("rect", {x: x + 0.1 * step, width: 0.8 * step, y: y(c.off) - 1.5, height: 3, class: "mark"}),
            ...(names
              ? [svg("text", {x: middle, y: 124, transform: `rotate(-60 ${middle} 124)`, "text-anchor": "end", class: "bar-name"}, brief(c.name, 16))]
              : []),
          ];
        }),
      ),
      el("p", {class: "quiet note"}, words),
    ];
  };

  /** The way, with its ends. @param {CanvasRenderingContext2D} context @param {import("./scatter.js").Scatter} map */
  const drawWay = (context, map) => {
    const ends = film.ends(),
      [a, b] = app.latent;
    if (!ends) return;
    const [start, stop] = ends.map(e => map.at(e.place[a], e.place[b]));
    context.strokeStyle = ink("--accent", map.element);
    context.lineWidth = 2;
    context.setLineDash([6, 5]);
    context.beginPath();
    context.moveTo(...start);
    context.lineTo(...stop);
    context.stroke();
    context.setLineDash([]);
    [start, stop].forEach(([x, y], k) => {
      app.ringAt(context, map, x, y);
      app.tag(context, x, y, brief(ends[k].words, 24));
    });
  };

  /** Where no row has been, as the warning has it: asked for anew where the view or the other axes have moved. */
  const shading = async (/** @type {import("./scatter.js").Scatter} */ map) => {
    const {x, y, w, h} = map.view,
      at = [...z()];
    for (const k of app.latent) at[k] = 0;
    const key = [...app.latent, x, y, w, h, ...at].join(",");
    if (asked || shade?.key === key) return;
    asked = true;
    try {
      const found = await app.source.json(`empty/${key}.json`);
      shade = {key, view: {x, y, w, h}, side: found.side, cells: app.unpacked(found.cells)};
    } catch {
      shade = {key, view: {x, y, w, h}, side: 1, cells: []};
    }
    asked = false;
    map.draw(); // asks again where the view has moved since
  };
  const overlay = (
    /** @type {CanvasRenderingContext2D} */ context,
    /** @type {import("./scatter.js").Scatter} */ map,
  ) => {
    const [a, b] = app.shownAxes;
    if (a === null && b === null) return;
    if (app.latent) {
      shading(map);
      drawShade(context, map);
      drawWay(context, map);
    }
    const at = z(),
      [x, y] = map.at(a === null ? 0 : at[a], b === null ? 0 : at[b]),
      {left, top, width: wide, height: high} = map.frame();
    for (const [colour, thick] of [
      ["--paper", 7],
      ["--accent", 3],
    ]) {
      context.strokeStyle = ink(/** @type {string} */ (colour), map.element);
      context.lineWidth = /** @type {number} */ (thick);
      context.beginPath();
      if (b !== null) {
        context.moveTo(a === null ? left : x - 14, y);
        context.lineTo(a === null ? left + wide : x + 14, y);
      }
      if (a !== null) {
        context.moveTo(x, b === null ? top : y - 14);
        context.lineTo(x, b === null ? top + high : y + 14);
      }
      context.stroke();
    }
  };
  /** @param {CanvasRenderingContext2D} context @param {import("./scatter.js").Scatter} map */
  const drawShade = (context, map) => {
    if (!shade) return;
    const {view: v, side} = shade;
    context.fillStyle = ink("--shade", map.element);
    for (const cell of shade.cells) {
      const [i, j] = [Math.floor(cell / side), cell % side],
        [x0, y0] = map.at(v.x + (i / side) * v.w, v.y + ((j + 1) / side) * v.h).map(Math.round),
        [x1, y1] = map.at(v.x + ((i + 1) / side) * v.w, v.y + (j / side) * v.h).map(Math.round);
      context.fillRect(x0, y0, x1 - x0, y1 - y0);
    }
  };
  const note = () => (app.latent ? "Shaded: no row has been there. Hollow points: rows with gaps." : "");
  const stepped = (/** @type {number} */ dx, /** @type {number} */ dy, /** @type {boolean} */ far) => {
    const [a, b] = app.shownAxes,
      by = far ? 0.1 : 0.02,
      at = (/** @type {number | null} */ k) => (k === null ? 0 : z()[k]);
    move(at(a) + dx * by * app.map.view.w, at(b) + dy * by * app.map.view.h, true);
  };
  const command = () =>
    facts.run ? ["lowdim", "explain", facts.run, `--place=${z().join(",")}`].map(shellWord).join(" ") : "";
  const python = () =>
    `${app.pythonSubject()}\ncard = subject.at([${z().join(", ")}])\nprint(card.text())`;
  return {name: "Place", controls, view, inspector, paint, overlay, note, stepped, dragged: move, command, python};
}
