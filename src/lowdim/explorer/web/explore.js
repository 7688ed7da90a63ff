// The explorer: one state, five screens that show it, and the address, keys and words that go with it.
import {fromAddress, toAddress, viewOf} from "./address.js";
import {ink} from "./draw.js";
import {keysOf, pressed} from "./keys.js";
import {RowNames} from "./rows.js";
import {Scatter} from "./scatter.js";
import {dimensionsScreen} from "./screen_dimensions.js";
import {gapsScreen} from "./screen_gaps.js";
import {mapScreen, paintedPoints} from "./screen_map.js";
import {placeScreen} from "./screen_place.js";
import {rowScreen} from "./screen_row.js";
import {httpSource, TableData, widgetSource} from "./source.js";
import {brief, counted, el, pythonText, shellWord, shortened} from "./words.js";

const SCREENS = /** @type {[string, (app: any) => any][]} */ ([
  ["row", rowScreen],
  ["map", mapScreen],
  ["place", placeScreen],
  ["dimensions", dimensionsScreen],
  ["gaps", gapsScreen],
]);

const STALE = /** @type {Record<string, string>} */ ({
  table:
    "The table's file has changed since this was opened: what is shown is of the table as it was. Stop the explorer and run it again.",
  run: "The run folder has been written anew since this was opened: what is shown is of the run as it was, and the commands here give the numbers of the new one. Stop the explorer and run it again.",
});

class App {
  /** @type {any} */ left;
  /** @type {any} */ centre;
  /** @type {any} */ right;
  /** @type {any} */ sorted;
  /** @type {any} */ pointsKey;
  /** @type {any} */ pointsGroup;
  /** @type {any} */ copied;
  /** @type {any} */ state;
  /** @type {any} */ repaint;
  /** @type {any} */ reorder;
  /** @type {any} */ shown;
  mine = `lowdim-${Math.random().toString(36).slice(2, 8)}`;
  fields = 0;
  spoken = 0; // how often something was said
  moving = false; // whether the address's last step is one of a movement that goes on

  /** @param {HTMLElement} host @param {any} source @param {any} facts @param {any} trait */
  constructor(host, source, facts, trait) {
    this.host = host;
    this.source = source;
    this.trait = trait;
    this.facts = facts;
    this.cells = facts.cells; // the columns of a row's card: of answers those of the file
    this.data = new TableData(source, this.facts);
    this.rows = new RowNames(facts.n, null, null);
    this.state = this.first();
    this.numbers = /** @type {any} */ ({});
    this.said = "";
    this.painted = /** @type {any} */ ({});
    this.ellipses = /** @type {any[]} */ ([]);
    this.map = new Scatter({
      say: t => this.say(t),
      picked: row => this.pickRow(row),
      lassoed: rows => this.lassoed(rows),
      overlay: (c, m) => this.screen?.overlay?.(c, m),
      stepped: (dx, dy, far) => (this.screen?.stepped ? this.screen.stepped(dx, dy, far) : this.stepOnMap(dx || dy)),
      dragged: (x, y, done) => {
        if (this.state.screen !== "place" || this.map.lasso) return false;
        this.screen.dragged(x, y, done);
        return true;
      },
    });
    /** @type {Map<string, any>} */ this.screens = new Map();
    this.build();
  }

  /** @returns {any} */
  first() {
    const {facts} = this,
      two = facts.q > 1;
    return {
      screen: this.rowScreen,
      row: facts.odd[0]?.row ?? 0,
      hidden: new Set(),
      edited: new Map(),
      ax: facts.q ? "axis/0" : "order",
      ay: two ? "axis/1" : "column/0",
      colour: facts.grouped ? "label/0" : "none",
      size: "none",
      ellipses: false,
      path: false,
      group: null,
      place: null,
      wide: null,
      cut: null,
      gap: null,
    };
  }

  // the frame -----------------------------------------------------------------------------------------------------
  build() {
    const {facts} = this,
      tab = (/** @type {string} */ key, /** @type {any} */ screen, /** @type {number} */ k) =>
        el(
          "button",
          {
            type: "button",
            role: "tab",
            id: this.id(`tab-${key}`),
            "aria-controls": this.id("main"),
            onclick: () => this.go({screen: key}),
          },
          el("span", {class: "quiet", "aria-hidden": "true"}, `${k} `),
          screen.name,
        );
    for (const [key, make] of SCREENS) {
      const made = make(this);
      if (made) this.screens.set(key, made);
    }
    this.tabs = new Map([...this.screens].map(([key, screen], k) => [key, tab(key, screen, k + 1)]));
    this.live = el("p", {class: "live", role: "status", "aria-live": "polite"});
    this.stale = el("p", {class: "warning", role: "alert", hidden: true});
    this.note = el("p", {class: "quiet note"});
    this.copies = el("div", {class: "copies"});
    this.help = el(
      "dialog",
      {"aria-label": "Keys"},
      el("h2", {}, "Keys"),
      el("dl", {}, ...keysOf(this).flatMap(([key, what]) => [el("dt", {}, key), el("dd", {}, what)])),
      el("button", {type: "button", onclick: () => this.help.close()}, "Close"),
    );
    [this.left, this.centre, this.right] = [
      el("aside", {class: "controls", "aria-label": "Controls"}),
      el("section", {class: "view", "aria-label": "View"}),
      el("aside", {class: "inspector", "aria-label": "What it says"}),
    ];
    this.main = el("main", {id: this.id("main"), role: "tabpanel", tabIndex: -1});
    const header = el(
      "header",
      {},
      el("h1", {title: facts.title}, brief(facts.title, 60)),
      el("p", {class: "quiet size"}, `${facts.size}; ${facts.method.title}, ${counted(facts.q, "dimension")}`),
      el("nav", {role: "tablist", "aria-label": "Screens"}, ...this.tabs.values()),
      el(
        "button",
        {type: "button", class: "help", "aria-label": "Help: keys", onclick: () => this.help.showModal()},
        "?",
      ),
    );
    const root = el(
      "div",
      {class: "lowdim-explore"},
      header,
      this.stale,
      this.main,
      this.live,
      this.help,
    );
    this.host.replaceChildren(root);
    this.root = root;
    root.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => pressed(this, event));
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.paint(true);
    this.scheme.addEventListener("change", this.repaint);
    this.narrow = matchMedia("(max-width: 48rem)");
    this.reorder = () => this.arrange();
    this.narrow.addEventListener("change", this.reorder);
    this.arrange();
  }

  /** The parts in the order in which they are seen, so that the tab key follows the eye. */
  arrange() {
    const {left, centre, right, main} = this,
      narrow = this.state.screen === "row" ? [centre, right, left] : [centre, left, right],
      order = this.narrow?.matches ? narrow : [left, centre, right];
    if (order.some((part, k) => main.children[k] !== part)) main.replaceChildren(...order);
  }

  /** Where a row is looked at: a model that cannot place rows has only its map. */
  get rowScreen() {
    return this.facts.placed ? "row" : "map";
  }

  /** An id of this page's own: a notebook may hold several. @param {string} name */
  id(name) {
    return `${this.mine}-${name}`;
  }

  async start() {
    const {facts} = this;
    const numbers = facts.counted ? null : await this.data.numbers("order");
    this.rows = new RowNames(facts.n, await this.data.names(), numbers);
    if (!this.trait) {
      this.back = () => {
        this.moving = false;
        this.state = {...this.first(), ...fromAddress(this)};
        this.paint();
      };
      addEventListener("hashchange", this.back);
      addEventListener("focus", () => this.checkStale());
      this.state = {...this.state, ...fromAddress(this)};
      document.title = `${brief(facts.title, 40)} · lowdim explore`;
      document.addEventListener("keydown", event => {
        if (event.target === document.body) pressed(this, event);
      });
    }
    await this.paint();
  }

  close() {
    this.scheme?.removeEventListener("change", this.repaint);
    this.map.close();
    this.screens.forEach(screen => screen.close?.());
    this.source.close?.();
    this.narrow?.removeEventListener("change", this.reorder);
    if (this.back) removeEventListener("hashchange", this.back);
  }

  get screen() {
    return this.screens.get(this.state.screen);
  }

  /** The map in this box; there is one, and screens hand it on. @param {HTMLElement} box */
  mapInto(box) {
    if (this.map.element.parentElement !== box) {
      box.replaceChildren(this.map.element, this.note);
      this.map.draw();
    }
    this.note.textContent = this.screen.note?.() ?? "";
  }

  // state -------------------------------------------------------------------------------------------------------
  /** Change the state, the address and the page. @param {any} change @param {{push?: boolean, said?: string}} [how]
   *   push: whether this is a step of its own, not a place on the way of a movement */
  go(change, {push = true, said = ""} = {}) {
    const {row} = this.state;
    this.state = {...this.state, ...change};
    if ("row" in change && change.row !== row && !("hidden" in change))
      Object.assign(this.state, {hidden: new Set(), edited: new Map()});
    this.said = said;
    if (!this.trait) toAddress(this, push);
    this.tell();
    return this.paint();
  }

  async paint(force = false) {
    const turn = (this.turn = (this.turn ?? 0) + 1),
      {state, facts} = this;
    if (!this.screens.has(state.screen)) state.screen = "map";
    const {screen} = this;
    for (const [key, tab] of /** @type {Map<string, any>} */ (this.tabs)) {
      tab.setAttribute("aria-selected", String(key === state.screen));
      tab.tabIndex = key === state.screen ? 0 : -1;
    }
    if (this.shown !== screen) {
      this.left.replaceChildren(screen.controls);
      this.centre.replaceChildren(screen.view);
      this.right.replaceChildren(screen.inspector, this.copies);
      this.root.dataset.screen = state.screen;
      this.shown = screen;
      if (screen.arm) screen.arm(false);
      this.map.wantsLasso = false;
      this.arrange();
    }
    try {
      await this.points(force);
      if (turn === this.turn) await screen.paint();
    } catch (problem) {
      this.say(`Something went wrong: ${/** @type {Error} */ (problem).message}. Is the explorer still running?`);
    }
    if (turn !== this.turn) return;
    this.live.dataset.numbers = JSON.stringify(this.numbers);
    this.paintCopies();
    this.done = (this.done ?? 0) + 1;
    this.root.dataset.painted = String(this.done);
    if (facts.n && !this.trait && !this.moving) this.checkStale();
  }

  /** Positions, colours and shapes, where they have changed. @param {boolean} force */
  async points(force) {
    const {state, data} = this,
      key = JSON.stringify([state.ax, state.ay, state.colour, state.size, state.ellipses]),
      axis = (/** @type {string} */ name) => name.match(/^axis\/(\d+)$/);
    const [a, b] = [axis(state.ax), axis(state.ay)];
    this.shownAxes = [a, b].map(found => (found ? Number(found[1]) : null));
    this.latent = a && b ? [Number(a[1]), Number(b[1])] : null;
    if (!force && key === this.pointsKey && state.group === this.pointsGroup) return;
    const [x, y] = await Promise.all([data.numbers(state.ax), data.numbers(state.ay)]);
    this.painted = await paintedPoints(this);
    this.pointsKey = key;
    this.pointsGroup = state.group;
    this.map.set({x, y, ...this.painted}, [this.axisWords(state.ax), this.axisWords(state.ay)]);
    await this.findEllipses();
  }

  /** The ellipses of the chosen rows, or of all where they are few. */
  async findEllipses() {
    const {facts, state} = this,
      few = facts.n <= facts.mostEllipses ? Uint32Array.from({length: facts.n}, (_, i) => i) : [],
      rows = Array.from(state.group && state.group.length <= facts.mostEllipses ? state.group : few);
    this.ellipses = [];
    if (!state.ellipses || !this.latent || !rows.length) return;
    const cov = new Float64Array(await this.source.bytes(`ellipses/${[...this.latent, ...rows].join(",")}`));
    this.ellipses = rows.map((i, k) => [i, Array.from(cov.slice(3 * k, 3 * k + 3))]);
  }

  // words -------------------------------------------------------------------------------------------------------
  /** Say what changed. @param {string} text */
  say = text => {
    this.spoken++;
    this.live.textContent = this.short(text).replace(/\s+/g, " ").trim();
  };

  /** A text with names that fit. @param {string} text */
  short(text) {
    return shortened(text, this.facts.columns);
  }

  /** @param {number} i */
  nameOf(i) {
    return this.rows.nameOf(i);
  }

  axisChoices() {
    return [
      ...this.facts.axes.map((/** @type {any} */ a, /** @type {number} */ k) => [
        `axis/${k}`,
        `axis ${k + 1}${a.share === null ? "" : ` (${Math.round(100 * a.share)}%)`}`,
      ]),
      ["order", "row number"],
      ...this.facts.columns.map((/** @type {any} */ c, /** @type {number} */ j) => [`column/${j}`, c.shown]),
    ];
  }

  colourChoices() {
    const {facts} = this,
      extras = /** @type {Record<string, string>} */ ({
        gaps: "gaps in the row",
        surprise: "largest surprise of a cell",
        density: "log density",
      });
    return [
      ["none", "one colour"],
      ...facts.labels.map((/** @type {any} */ l, /** @type {number} */ k) => [`label/${k}`, l.name]),
      ...facts.extras.map((/** @type {string} */ name) => [`extra/${name}`, extras[name]]),
      ...facts.columns.map((/** @type {any} */ c, /** @type {number} */ j) => [`column/${j}`, c.name]),
    ];
  }

  /** @param {string} choice */
  nameOfChoice(choice) {
    return (this.colourChoices().find(([key]) => key === choice) ?? ["", choice])[1];
  }

  /** @param {string} name */
  axisWords(name) {
    const [kind, k] = name.split("/"),
      {facts} = this;
    if (kind === "order") return "row number";
    if (kind === "column") return facts.columns[Number(k)].shown;
    const share = facts.axes[Number(k)].share;
    return `axis ${Number(k) + 1}${share === null ? "" : ` (${Math.round(100 * share)}% of the variation)`}`;
  }

  /** A name beside a point. @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {string} text */
  tag(context, x, y, text) {
    context.font = "600 13px system-ui, sans-serif";
    context.lineWidth = 4;
    context.lineJoin = "round";
    const wide = context.measureText(text).width,
      {left, width} = this.map.frame(),
      right = x + 12 + wide < left + width,
      at = Math.max(left + 3, right ? x + 10 : x - 10 - wide),
      up = y > 36 ? y - 8 : y + 18;
    context.strokeStyle = ink("--paper", this.root);
    context.strokeText(text, at, up);
    context.fillStyle = ink("--ink", this.root);
    context.fillText(text, at, up);
  }

  /** A ring round a row. @param {CanvasRenderingContext2D} context @param {number} i */
  ring(context, i) {
    const [x, y] = this.map.at(/** @type {any} */ (this.map.px)[i], /** @type {any} */ (this.map.py)[i]);
    for (const [colour, wide] of [
      ["--paper", 5],
      ["--accent", 2.5],
    ]) {
      context.strokeStyle = ink(/** @type {string} */ (colour), this.map.element);
      context.lineWidth = /** @type {number} */ (wide);
      context.beginPath();
      context.arc(x, y, 9, 0, 2 * Math.PI);
      context.stroke();
    }
    this.tag(context, x, y, brief(this.nameOf(i), 24));
  }

  // rows and groups -------------------------------------------------------------------------------------------------
  /** @param {number} row */
  pickRow(row) {
    this.go({row}, {said: `Row ${this.nameOf(row)}.`});
  }

  /** @param {number} by */
  step(by) {
    this.pickRow((this.state.row + by + this.facts.n) % this.facts.n);
  }

  /** The next row along the first axis of the map. @param {number} by */
  stepOnMap(by) {
    const px = /** @type {any} */ (this.map.px);
    if (this.sorted?.of !== px)
      this.sorted = {
        of: px,
        order: Uint32Array.from({length: this.facts.n}, (_, i) => i).sort((a, b) => px[a] - px[b]),
      };
    const {order} = this.sorted,
      at = order.indexOf(this.state.row);
    this.pickRow(order[(at + by + order.length) % order.length]);
  }

  /** @param {Uint32Array} rows */
  lassoed(rows) {
    this.screen.arm?.(false);
    this.go(
      {group: rows.length ? rows : null, screen: "map"},
      {said: rows.length ? `${counted(rows.length, "row")} chosen.` : "No row is inside."},
    );
  }

  /** The next odd row. @param {number} by */
  nextOdd(by) {
    const rows = this.facts.odd.map((/** @type {any} */ r) => r.row),
      at = rows.indexOf(this.state.row);
    if (!rows.length) return this.say("No odd rows.");
    this.go(
      {screen: this.rowScreen, row: rows[(at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by + rows.length) % rows.length]},
      {said: `Odd row ${at + 1 || 1} of ${rows.length}.`},
    );
  }

  // commands ----------------------------------------------------------------------------------------------------------
  pythonSubject() {
    const {run} = this.facts;
    return run
      ? `import lowdim as ld\nsubject = ld.subject(${pythonText(run)})`
      : "import lowdim as ld\nsubject = ld.subject(found)  # found: what was given to ld.explore";
  }

  /** The command that opens this very view, for what no other command prints. */
  viewCommand() {
    return this.facts.run ? ["lowdim", "explore", this.facts.run, "--view", viewOf(this)].map(shellWord).join(" ") : "";
  }

  paintCopies() {
    const block = (/** @type {string} */ name, /** @type {string} */ text) => {
      const code = el("pre", {tabIndex: 0}, el("code", {}, text)),
        button = el(
          "button",
          {
            type: "button",
            class: "copy",
            onclick: async () => {
              try {
                await navigator.clipboard.writeText(text);
                this.say(`${name} copied.`);
              } catch {
                getSelection()?.selectAllChildren(code);
                this.say(`${name} selected: press Ctrl+C.`);
              }
            },
          },
          `Copy ${name}`,
        );
      return el("div", {class: "again"}, button, code);
    };
    const command = this.screen.command() || this.viewCommand(),
      python = this.screen.python(),
      beside = this.screen.beside?.() ?? "",
      key = `${command}\n${python}\n${beside}`;
    if (this.copied === key) return;
    this.copied = key;
    this.copies.replaceChildren(
      el("h2", {}, "Do this yourself"),
      command ? block("command", command) : el("p", {class: "quiet"}, "Without a run folder there is no command; the Python is below."),
      beside ? el("p", {class: "quiet"}, beside) : "",
      block("Python", python),
    );
  }

  // a notebook's traits -----------------------------------------------------------------------------------------------
  tell() {
    if (!this.trait) return;
    const {group, row, place} = this.state,
      model = this.trait;
    this.telling = true;
    model.set("selection", group ? Array.from(group) : []);
    model.set("row", row);
    model.set("place", place ?? []);
    model.save_changes();
    this.telling = false;
  }

  follow() {
    const model = this.trait,
      heard = () => {
        if (this.telling) return;
        const group = Uint32Array.from(model.get("selection")),
          place = model.get("place"),
          row = model.get("row");
        this.state = {
          ...this.state,
          group: group.length ? group : null,
          place: place.length === this.facts.q ? place : this.state.place,
          row,
        };
        this.said = "";
        this.paint();
      };
    for (const name of ["selection", "row", "place"]) model.on(`change:${name}`, heard);
  }

  async checkStale() {
    try {
      const {what} = await this.source.json("stale.json");
      this.stale.hidden = what === null;
      this.stale.textContent = STALE[what] ?? "";
    } catch {
      /* the server has gone: the next question says so */
    }
  }
}

/** Draw the explorer into an element: of a widget's model, or of this computer's server. @param {{model?: any, el: any}} place */
async function render({model, el: host}) {
  const source = model ? widgetSource(model) : httpSource();
  try {
    const app = new App(host, source, await source.json("facts.json"), model ?? null);
    host.explorer = app;
    if (model) app.follow();
    await app.start();
    return () => app.close();
  } catch (problem) {
    host.textContent = `The explorer could not begin: ${/** @type {Error} */ (problem).message}.`;
    console.error(problem);
  }
}

export default {render};
