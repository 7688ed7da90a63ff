// Place: drag a cross on the map and read the row that lives there, with its band; play the way between two rows or groups.
import {button, dataTable, field, numbersRow, pickList} from "./controls.js";
import {ink, svg} from "./draw.js";
import {FRAMES, filmControls} from "./film.js";
import {formOf, pictureOf} from "./pictures.js";
import {HALF_90, outwardOf} from "./row_card.js";
import {brief, el, figures, figuresBySd, named, shellWord, signed} from "./words.js";

const CELLS_LISTED = 40,
  SHADED = 36,
  STILLS = 5, // of a film, side by side
  LEAST_PROFILE = 8;

/** @param {any} app */
export function placeScreen(app) {
  const {facts} = app,
    film = filmControls(app),
    mapBox = el("div", {class: "map-box"}),
    picture = el("div", {class: "picture"}),
    stills = el("div", {class: "stills"}),
    view = el("div", {class: "grow"}, mapBox, picture, stills);
  const width = el("input", {
    type: "number",
    min: 0,
    max: facts.columns.length,
    onchange: () => app.go({wide: width.value === "" ? null : Number(width.value)}),
  });
  const sliders = el("div");
  const controls = el(
    "div",
    {},
    el("p", {class: "quiet"}, "Drag the cross on the map, or move it with the arrow keys (with Shift further)."),
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
    table = dataTable(
      "What lives here, farthest from the average first; 90% of new cells lie in the band",
      ["column", "value", "90% band", "off average"],
      body,
    ),
    inspector = el("div", {}, el("h2", {}, "The row that lives here"), sentence, warning, near, table);
  let busy = false,
    wanted = false,
    pictured = "";
  /** @type {any} */ let shade = null;

  const z = () => {
    const {place, along} = app.state;
    return place ?? (film.ends() ? film.at(along / FRAMES) : Array(facts.q).fill(0));
  };
  const move = (/** @type {number} */ x, /** @type {number} */ y, /** @type {boolean} */ push) => {
    const place = [...z()];
    if (!app.latent) return;
    place[app.latent[0]] = x;
    if (app.latent[1] !== app.latent[0]) place[app.latent[1]] = y;
    app.go({place}, {push});
  };
  const toRow = async (/** @type {number} */ i) => {
    const all = await Promise.all(Array.from({length: facts.q}, (_, k) => app.data.numbers(`axis/${k}`)));
    app.go({place: all.map(column => column[i])});
  };

  /** The cells that live at a place, in the table's order and units. @param {number[]} place */
  const cellsAt = place => {
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

  const paint = async () => {
    app.mapInto(mapBox);
    if (!app.model) {
      sentence.textContent = "This model cannot say which row lives at a place: it has no decoder.";
      table.hidden = true;
      app.numbers = {};
      return app.map.draw();
    }
    await film.paint();
    const place = z(),
      cells = cellsAt(place),
      order = [...cells].sort((a, b) => Math.abs(b.off) - Math.abs(a.off));
    body.replaceChildren(
      ...order
        .slice(0, CELLS_LISTED)
        .map(c =>
          numbersRow(
            named(c.name, 40),
            figuresBySd(c.value, c.sd, 3),
            c.banded ? `${figures(c.low, 3)} to ${figures(c.high, 3)}` : "not known",
            `${signed(c.off)} sd`,
          ),
        ),
    );
    const first = order
      .slice(0, 3)
      .map(c => `${brief(c.name, 24)} ${figuresBySd(c.value, c.sd, 3)}`)
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
      density: app.model.density(place),
    };
    paintSliders(place);
    paintPicture(cells);
    app.map.draw();
    if (!film.playing()) ask();
  };

  const paintSliders = (/** @type {number[]} */ place) => {
    const others = place
      .map((_, k) => k)
      .filter(k => !app.latent?.includes(k))
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
            pick: () => app.go({screen: "row", row: r.row, hidden: new Set(), edited: new Map()}),
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
        app.say(`${sentence.textContent} ${warning.textContent} ${pictured} Nearest: ${rows}.`);
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
  const paintPicture = cells => {
    const form = formOf(facts, app.state.wide),
      ends = film.ends();
    width.value = app.state.wide === null ? (form?.kind === "image" ? String(form.width) : "") : String(app.state.wide);
    pictured = "";
    if (!form) {
      stills.replaceChildren();
      return picture.replaceChildren(...(app.state.wide === 0 ? [] : profile(cells)));
    }
    const drawn = pictureOf(facts, form, cells);
    pictured = `It looks like ${drawn.words}.`;
    picture.replaceChildren(drawn.element, el("p", {class: "quiet note"}, `${drawn.words[0].toUpperCase()}${drawn.words.slice(1)}.`));
    stills.replaceChildren(
      ...(ends
        ? Array.from({length: STILLS}, (_, k) => {
            const share = k / (STILLS - 1),
              words = k === 0 ? ends[0].words : k === STILLS - 1 ? ends[1].words : `${Math.round(100 * share)}%`;
            const {element} = pictureOf(facts, form, cellsAt(film.at(share)), words);
            return el("figure", {}, element, el("figcaption", {}, brief(words, 18)));
          })
        : []),
    );
  };

  /** Columns that form nothing: a band and a mark each, in spreads from the average. @param {any[]} cells */
  const profile = cells => {
    if (cells.length < LEAST_PROFILE) return [];
    const most = Math.max(2, ...cells.map(c => Math.abs(c.off))),
      step = 580 / cells.length,
      y = (/** @type {number} */ v) => 60 - (50 * Math.max(-most, Math.min(most, v))) / most;
    const words = "Each column in spreads from its average, with the 90% band.";
    return [
      svg(
        "svg",
        {viewBox: "0 0 600 120", role: "img", class: "curve"},
        svg("title", {}, words),
        svg("line", {x1: 10, x2: 590, y1: 60, y2: 60, class: "zero"}),
        ...cells.flatMap((c, j) => {
          const [low, high, x] = [y(c.off - c.reach), y(c.off + c.reach), 10 + j * step];
          return [
            svg("rect", {x: x + 0.1 * step, width: 0.8 * step, y: high, height: Math.max(low - high, 1), class: "band"}),
            svg("rect", {x: x + 0.1 * step, width: 0.8 * step, y: y(c.off) - 1.5, height: 3, class: "mark"}),
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

  /** Shaded where the model finds a place less likely than 99 % of the rows. */
  const shading = (/** @type {import("./scatter.js").Scatter} */ map) => {
    const key = JSON.stringify([
      map.view,
      app.latent,
      z().filter((/** @type {number} */ _, /** @type {number} */ k) => !app.latent.includes(k)),
    ]);
    if (shade?.key === key || !app.model) return shade;
    const [a, b] = app.latent,
      at = (/** @type {number} */ x, /** @type {number} */ y) => {
        const p = [...z()];
        p[a] = x;
        p[b] = y;
        return app.model.density(p);
      };
    const step = Math.max(1, Math.floor(facts.n / 200)),
      levels = [];
    for (let i = 0; i < facts.n; i += step) levels.push(at(map.px[i], map.py[i]));
    const limit = levels.sort((x, y) => x - y)[Math.floor(levels.length / 100)],
      cells = [];
    for (let i = 0; i < SHADED; i++)
      for (let j = 0; j < SHADED; j++) {
        if (at(map.view.x + ((i + 0.5) / SHADED) * map.view.w, map.view.y + ((j + 0.5) / SHADED) * map.view.h) < limit)
          cells.push([i, j]);
      }
    shade = {key, cells};
    return shade;
  };
  const overlay = (
    /** @type {CanvasRenderingContext2D} */ context,
    /** @type {import("./scatter.js").Scatter} */ map,
  ) => {
    if (!app.latent || !app.model) return;
    if (app.model.kind !== "process" || facts.n < 300) {
      context.fillStyle = ink("--shade", map.element);
      const v = map.view;
      for (const [i, j] of shading(map)?.cells ?? []) {
        const [x0, y0] = map.at(v.x + (i / SHADED) * v.w, v.y + ((j + 1) / SHADED) * v.h),
          [x1, y1] = map.at(v.x + ((i + 1) / SHADED) * v.w, v.y + (j / SHADED) * v.h);
        context.fillRect(
          Math.round(x0),
          Math.round(y0),
          Math.round(x1) - Math.round(x0),
          Math.round(y1) - Math.round(y0),
        );
      }
    }
    drawWay(context, map);
    const [x, y] = map.at(z()[app.latent[0]], z()[app.latent[1]]);
    for (const [colour, wide] of [
      ["--paper", 7],
      ["--accent", 3],
    ]) {
      context.strokeStyle = ink(/** @type {string} */ (colour), map.element);
      context.lineWidth = /** @type {number} */ (wide);
      context.beginPath();
      context.moveTo(x - 14, y);
      context.lineTo(x + 14, y);
      context.moveTo(x, y - 14);
      context.lineTo(x, y + 14);
      context.stroke();
    }
  };
  const note = () => (app.model ? "Shaded: less likely than 99% of the rows." : "");
  const stepped = (/** @type {number} */ dx, /** @type {number} */ dy, /** @type {boolean} */ far) => {
    const [a, b] = app.latent ?? [0, 0],
      by = far ? 0.1 : 0.02;
    move(z()[a] + dx * by * app.map.view.w, z()[b] + dy * by * app.map.view.h, true);
  };
  const command = () =>
    facts.run && app.model ? ["lowdim", "explain", facts.run, `--place=${z().join(",")}`].map(shellWord).join(" ") : "";
  const python = () =>
    app.model
      ? `${app.pythonSubject()}\ncard = subject.at([${z().join(", ")}])\nprint(card.text())`
      : `${app.pythonSubject()}\nprint(subject.places.z)`;
  return {name: "Place", controls, view, inspector, paint, overlay, note, stepped, dragged: move, command, python};
}
