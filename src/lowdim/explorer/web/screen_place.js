// Place: drag a cross on the map and read the row that lives there, with its band; play the way between two rows.
import {ink, svg} from "./draw.js";
import {HALF_90, outwardOf} from "./row_card.js";
import {brief, el, figures, figuresBySd, named, signed} from "./words.js";

const CELLS_LISTED = 40,
  SHADED = 36,
  FRAMES = 60,
  LEAST_IMAGE = 64,
  LEAST_CURVE = 8;

/** @param {any} app */
export function placeScreen(app) {
  const {facts} = app,
    mapBox = el("div", {class: "map-box"}),
    picture = el("div", {class: "picture"}),
    view = el("div", {class: "grow"}, mapBox, picture);
  const square = Math.round(Math.sqrt(facts.columns.length)),
    isSquare = square * square === facts.columns.length && facts.columns.length >= LEAST_IMAGE;
  const width = el("input", {
    type: "number",
    min: 0,
    max: facts.columns.length,
    value: isSquare ? square : 0,
    onchange: () => paint(),
  });
  const from = el("input", {type: "text", autocomplete: "off"}),
    to = el("input", {type: "text", autocomplete: "off"}),
    film = el("input", {type: "range", min: 0, max: FRAMES, value: 0, oninput: () => along(Number(film.value))});
  const play = el("button", {type: "button", onclick: () => run()}, "Play"),
    here = el("button", {type: "button", onclick: () => toRow(app.state.row)}, "Go to the chosen row"),
    middle = el("button", {type: "button", onclick: () => app.go({place: Array(facts.q).fill(0)})}, "Go to the middle");
  const sliders = el("div");
  const controls = el(
    "div",
    {},
    el("p", {class: "quiet"}, "Drag the cross on the map, or move it with the arrow keys (with Shift further)."),
    el("div", {class: "pair"}, here, middle),
    sliders,
    el("h2", {}, "A way between two rows"),
    el("label", {class: "field"}, el("span", {}, "From row"), from),
    el("label", {class: "field"}, el("span", {}, "To row"), to),
    el("label", {class: "field"}, el("span", {}, "How far along"), film),
    el("div", {class: "pair"}, play),
    el("label", {class: "field"}, el("span", {}, "Show columns as an image this wide (0: none)"), width),
  );
  const sentence = el("p", {class: "lead"}),
    warning = el("p", {class: "warning", role: "alert", hidden: true}),
    near = el("div"),
    body = el("tbody");
  const table = el(
    "div",
    {class: "scroll"},
    el(
      "table",
      {},
      el("caption", {}, "What lives here, farthest from the average first; 90% of new cells lie in the band"),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ...["column", "value", "90% band", "off average"].map((text, k) =>
            el("th", {scope: "col", class: k ? "n" : ""}, text),
          ),
        ),
      ),
      body,
    ),
  );
  const inspector = el("div", {}, el("h2", {}, "The row that lives here"), sentence, warning, near, table);
  let busy = false,
    wanted = false;
  /** @type {any} */ let shade = null;
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");

  const z = () => app.state.place ?? Array(facts.q).fill(0);
  const move = (/** @type {number} */ x, /** @type {number} */ y, /** @type {boolean} */ push) => {
    const place = [...z()];
    if (!app.latent) return;
    place[app.latent[0]] = x;
    if (app.latent[1] !== app.latent[0]) place[app.latent[1]] = y;
    app.go({place}, {push, quiet: !push});
  };
  const toRow = async (/** @type {number} */ i) => {
    const all = await Promise.all(Array.from({length: facts.q}, (_, k) => app.data.numbers(`axis/${k}`)));
    app.go({place: all.map(column => column[i])});
  };

  const paint = () => {
    app.mapInto(mapBox);
    if (!app.model) {
      sentence.textContent = "This model cannot say which row lives at a place: it has no decoder.";
      table.hidden = true;
      return app.map.draw();
    }
    const place = z(),
      {mean, sd} = app.model.decode(place),
      spread = facts.spread;
    const cells = facts.columns.map((/** @type {any} */ c, /** @type {number} */ j) => {
      const own = (/** @type {number} */ v) => outwardOf(c, v),
        half = sd ? HALF_90 * sd[j] : 0;
      return {
        name: c.name,
        value: own(mean[j]),
        low: own(mean[j] - half),
        high: own(mean[j] + half),
        off: (mean[j] - facts.middle[j]) / spread[j],
        sd: sd ? sd[j] : spread[j],
      };
    });
    const order = [...cells].sort((a, b) => Math.abs(b.off) - Math.abs(a.off));
    body.replaceChildren(
      ...order
        .slice(0, CELLS_LISTED)
        .map(c =>
          el(
            "tr",
            {},
            el("th", {scope: "row"}, named(c.name, 40)),
            el("td", {class: "n"}, figuresBySd(c.value, c.sd, 3)),
            el("td", {class: "n"}, sd ? `${figures(c.low, 3)} to ${figures(c.high, 3)}` : "not known"),
            el("td", {class: "n"}, `${signed(c.off)} sd`),
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
    ask();
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
          el(
            "label",
            {class: "field"},
            el("span", {}, `Axis ${k + 1}`),
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
    try {
      const answer = await app.source.json(`near/${z().join(",")}.json`);
      near.replaceChildren(
        el("h3", {}, "Nearest rows, over all columns"),
        el(
          "ul",
          {class: "near"},
          ...answer.near.map((/** @type {any} */ r) =>
            el(
              "li",
              {},
              el(
                "button",
                {
                  type: "button",
                  class: "pick",
                  onclick: () => app.go({screen: "row", row: r.row, hidden: new Set(), edited: new Map()}),
                },
                `Row ${brief(r.name, 24)}`,
              ),
              ` ${figures(r.far, 2)} sd a cell away`,
            ),
          ),
        ),
      );
      warning.hidden = answer.been;
      warning.textContent = answer.been ? "" : "No row has been here: what is shown is the model's guess alone.";
      app.say(
        `${sentence.textContent} ${warning.textContent} Nearest: ${answer.near
          .slice(0, 2)
          .map((/** @type {any} */ r) => `row ${r.name}`)
          .join(" and ")}.`,
      );
    } catch {
      near.replaceChildren();
    }
    busy = false;
    if (wanted) {
      wanted = false;
      ask();
    }
  };

  /** The columns as a curve with its band, or as an image. @param {any[]} cells */
  const paintPicture = cells => {
    const wide = Number(width.value),
      offs = cells.map(c => c.off);
    if (wide > 0) {
      const high = Math.ceil(cells.length / wide),
        canvas = el("canvas", {
          width: wide,
          height: high,
          class: "image",
          role: "img",
          "aria-label": "The columns as an image: light is above the average",
        });
      const context = canvas.getContext("2d"),
        data = context.createImageData(wide, high);
      cells.forEach((c, j) => {
        const [low, top] = [facts.columns[j].low, facts.columns[j].high],
          v = Math.round(255 * Math.min(1, Math.max(0, (c.value - low) / (top - low || 1))));
        data.data.set([v, v, v, 255], 4 * j);
      });
      context.putImageData(data, 0, 0);
      return picture.replaceChildren(canvas);
    }
    if (cells.length < LEAST_CURVE || !cells.every((c, j) => facts.columns[j].offset === null))
      return picture.replaceChildren();
    const most = Math.max(2, ...offs.map(Math.abs)),
      x = (/** @type {number} */ j) => 10 + (580 * j) / (cells.length - 1),
      y = (/** @type {number} */ v) => 60 - (50 * v) / most;
    const edge = (/** @type {string} */ key) =>
      cells.map(
        (c, j) =>
          `${x(j).toFixed(1)},${y(Math.max(-most, Math.min(most, (c[key] - facts.middle[j]) / facts.spread[j]))).toFixed(1)}`,
      );
    picture.replaceChildren(
      svg(
        "svg",
        {viewBox: "0 0 600 120", role: "img", class: "curve"},
        svg("title", {}, "The columns in their order, in spreads from the average, with the 90% band"),
        svg("polygon", {points: [...edge("low"), ...edge("high").reverse()].join(" "), class: "band"}),
        svg("line", {x1: 10, x2: 590, y1: 60, y2: 60, class: "zero"}),
        svg("polyline", {points: edge("value").join(" "), class: "curve-line"}),
      ),
      el("p", {class: "quiet note"}, "The columns in their order, in spreads from the average, with the 90% band."),
    );
  };

  // a way between two rows
  const ends = async () => {
    const found = await Promise.all([from, to].map(async field => app.findRow(field.value.trim())));
    [from, to].forEach((field, k) => {
      field.setCustomValidity(found[k] < 0 ? "the name or number of a row" : "");
    });
    if (![from, to].every(field => field.reportValidity())) return null;
    const all = await Promise.all(Array.from({length: facts.q}, (_, k) => app.data.numbers(`axis/${k}`)));
    return found.map(i => all.map(column => column[i]));
  };
  const along = async (/** @type {number} */ frame) => {
    const both = await ends();
    if (both) app.go({place: both[0].map((v, k) => v + ((both[1][k] - v) * frame) / FRAMES)}, {push: false});
  };
  const run = async () => {
    if (!(await ends())) return;
    if (reduced.matches) {
      film.focus();
      return app.say("Motion is reduced on this computer: move the slider to go along the way.");
    }
    for (let frame = 0; frame <= FRAMES && app.state.screen === "place"; frame++) {
      film.value = String(frame);
      await along(frame);
      await new Promise(done => setTimeout(done, 50));
    }
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
  const python = () =>
    `${app.pythonSubject()}\ncells = subject.model.decode([[${z().join(", ")}]])\nprint(dict(zip(subject.table.scale_names, cells.mean[0] * subject.unit)))`;
  return {
    name: "Place",
    controls,
    view,
    inspector,
    paint,
    overlay,
    note,
    stepped,
    dragged: move,
    command: () => "",
    python,
  };
}
