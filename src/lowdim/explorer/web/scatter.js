// Points: pan, zoom, picking, lasso, ellipses. What is drawn is told by whoever uses it.
import {fitted, ink, ticks} from "./draw.js";
import {CELLS, bounds, edgeCells, gridded} from "./grid.js";
import {Raster} from "./raster.js";
import {figures} from "./words.js";

const MARGIN = {left: 56, right: 12, top: 12, bottom: 44}; // around the points, in CSS pixels
const PLAIN_FROM = 200_000; // points from which all are squares: shapes would cost a second a frame
const MOVING = 120_000; // points drawn while the view moves where all take long; all of them once it rests
const LONG = 150; // milliseconds of a frame that are too many for moving
const CHI2_90 = 4.605170185988092; // of two degrees of freedom
const REACH = 14; // pixels within which a point is picked

/** @typedef {{x: ArrayLike<number>, y: ArrayLike<number>, colour: Uint8Array, how: Uint8Array}} Points colours r g b a; how:
 *   shape, hollow, size, in front */

export class Scatter {
  /** @type {any} */ px;
  /** @type {any} */ py;
  /** @type {any} */ colour;
  /** @type {any} */ how;
  /** @type {any} */ grid;
  /** @type {any} */ resting;
  /** @type {{corners: [number, number][], cursor: [number, number] | null} | null} */ lasso = null;
  wantsLasso = false;
  lassoTime = 0;

  /** @param {{say?: (text: string) => void, picked?: (row: number) => void, lassoed?: (rows: Uint32Array) => void,
   *   overlay?: (context: CanvasRenderingContext2D, view: Scatter) => void,
   *   stepped?: (dx: number, dy: number, far: boolean) => void, dragged?: (x: number, y: number, done: boolean) => boolean}} told */
  constructor(told) {
    this.told = told;
    this.points = document.createElement("canvas");
    this.over = document.createElement("canvas");
    this.element = document.createElement("div");
    this.element.className = "scatter";
    this.over.tabIndex = 0;
    this.over.setAttribute("role", "application");
    this.over.setAttribute("aria-label", "The map. Arrow keys step through rows, + and - zoom.");
    this.element.append(this.points, this.over);
    this.n = 0;
    this.view = {x: 0, y: 0, w: 1, h: 1};
    this.wanted = this.view; // what is to be seen; the view is so much more that a unit is as long across as up
    this.whole = {...this.view};
    this.names = ["", ""];
    this.size = 6;
    this.asked = 0;
    /** @type {any} */ this.drag = null;
    this.fronts = false;
    this.longest = 0; // milliseconds of the last frame with every point
    this.raster = new Raster();
    this.listen();
    this.watcher = new ResizeObserver(() => this.draw());
    this.watcher.observe(this.element);
  }

  close() {
    this.watcher.disconnect();
  }

  /** @param {Points} p @param {[string, string]} names */
  set(p, names) {
    this.n = p.x.length;
    this.names = names;
    const moved = this.px !== p.x || this.py !== p.y;
    this.px = p.x;
    this.py = p.y;
    this.colour = p.colour;
    this.how = p.how;
    this.fronts = false;
    for (let at = 3; at < p.how.length && !this.fronts; at += 4) this.fronts = p.how[at] > 0;
    if (moved) {
      this.longest = 0;
      this.whole = bounds(p.x, p.y);
      this.grid = null; // made when a point is first looked for
      this.look({...this.whole});
    }
    this.draw(moved); // of very many points some at once, all of them a moment later
  }

  /** Where a place of the table lies in the box, in CSS pixels. @param {number} x @param {number} y @returns {[number, number]} */
  at(x, y) {
    const {width, height} = this.inner();
    return [
      MARGIN.left + ((x - this.view.x) / this.view.w) * width,
      MARGIN.top + (1 - (y - this.view.y) / this.view.h) * height,
    ];
  }

  /** And back. @param {number} left @param {number} top @returns {[number, number]} */
  from(left, top) {
    const {width, height} = this.inner();
    return [
      this.view.x + ((left - MARGIN.left) / width) * this.view.w,
      this.view.y + (1 - (top - MARGIN.top) / height) * this.view.h,
    ];
  }

  /** The box of the points within the element, in CSS pixels. */
  frame() {
    return {left: MARGIN.left, top: MARGIN.top, ...this.inner()};
  }

  inner() {
    const box = this.element.getBoundingClientRect();
    return {
      width: Math.max(10, box.width - MARGIN.left - MARGIN.right),
      height: Math.max(10, box.height - MARGIN.top - MARGIN.bottom),
    };
  }

  /** @param {{x: number, y: number, w: number, h: number}} view */
  look(view) {
    this.view = this.wanted = view;
  }

  /** As much more of the map as makes a unit as long across as up: distances and circles are true. */
  even() {
    const {width, height} = this.inner(),
      {x, y, w, h} = this.wanted,
      unit = Math.max(w / width, h / height);
    this.view = {x: x - (unit * width - w) / 2, y: y - (unit * height - h) / 2, w: unit * width, h: unit * height};
  }

  /** Ask for a frame. @param {boolean} [moving] */
  draw(moving = false) {
    cancelAnimationFrame(this.asked);
    this.asked = requestAnimationFrame(() => {
      const begun = performance.now();
      if (!this.element.isConnected || !this.px) return;
      const step = moving && this.longest > LONG && this.n > MOVING ? Math.ceil(this.n / MOVING) : 1;
      this.even();
      this.raster.draw(this, step);
      this.drawOver();
      if (step === 1) this.longest = performance.now() - begun;
      clearTimeout(this.resting);
      if (step > 1) this.resting = setTimeout(() => this.draw(), 180);
    });
  }

  /** Whether all points are squares. */
  plain() {
    return this.n > PLAIN_FROM;
  }

  pointSize() {
    return this.plain() ? 1.6 : this.n > 20_000 ? 3 : this.n > 3_000 ? 5 : 9;
  }

  drawOver() {
    const {ratio, width: full} = fitted(this.over),
      context = /** @type {CanvasRenderingContext2D} */ (this.over.getContext("2d"));
    const {width, height} = this.inner(),
      v = this.view,
      host = this.element,
      bottom = MARGIN.top + height;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, full + 10, bottom + 100);
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = ink("--quiet", host);
    context.strokeStyle = ink("--line", host);
    context.lineWidth = 1;
    context.strokeRect(MARGIN.left + 0.5, MARGIN.top + 0.5, width - 1, height - 1);
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const t of ticks(v.x, v.x + v.w, width / 80)) {
      const [x] = this.at(t, 0);
      context.fillRect(x, bottom, 1, 4);
      context.fillText(figures(t, 4), x, bottom + 6);
    }
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const t of ticks(v.y, v.y + v.h, height / 60)) {
      const [, y] = this.at(0, t);
      context.fillRect(MARGIN.left - 4, y, 4, 1);
      context.fillText(figures(t, 3), MARGIN.left - 7, y, MARGIN.left - 22);
    }
    context.fillStyle = ink("--ink", host);
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    context.fillText(this.names[0], MARGIN.left + width / 2, bottom + 36, width);
    context.save();
    context.translate(11, MARGIN.top + height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(this.names[1], 0, 0, height);
    context.restore();
    context.save();
    context.beginPath();
    context.rect(MARGIN.left, MARGIN.top, width, height);
    context.clip();
    this.told.overlay?.(context, this);
    this.drawLasso(context);
    context.restore();
  }

  /** @param {CanvasRenderingContext2D} context */
  drawLasso(context) {
    if (!this.lasso) return;
    const corners = this.lasso.corners.map(([x, y]) => this.at(x, y));
    context.strokeStyle = ink("--link", this.element);
    context.lineWidth = 2;
    context.setLineDash([5, 4]);
    context.beginPath();
    corners.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
    if (!this.lasso.cursor) context.closePath();
    context.stroke();
    context.setLineDash([]);
    if (this.lasso.cursor) {
      const [x, y] = this.at(...this.lasso.cursor);
      context.beginPath();
      context.moveTo(x - 9, y);
      context.lineTo(x + 9, y);
      context.moveTo(x, y - 9);
      context.lineTo(x, y + 9);
      context.stroke();
    }
  }

  /** A 90 % ellipse about a place. @param {CanvasRenderingContext2D} context @param {number} x @param {number} y
   * @param {[number, number, number]} cov xx, xy, yy */
  ellipse(context, x, y, [a, b, c]) {
    context.beginPath();
    const root = Math.sqrt(Math.max(a, 1e-300)),
      across = b / root,
      up = Math.sqrt(Math.max(c - across * across, 0)),
      r = Math.sqrt(CHI2_90);
    for (let k = 0; k <= 72; k++) {
      const angle = (k / 36) * Math.PI,
        [u, v] = [r * Math.cos(angle), r * Math.sin(angle)];
      context.lineTo(...this.at(x + root * u, y + across * u + up * v));
    }
    context.stroke();
  }

  // finding points ------------------------------------------------------------------------------------------------
  /** The nearest point within reach, or -1. @param {number} left @param {number} top */
  pick(left, top) {
    const [x, y] = this.from(left, top),
      {width, height} = this.inner(),
      dx = (REACH / width) * this.view.w,
      dy = (REACH / height) * this.view.h;
    let best = -1,
      least = 1;
    this.within(x - dx, y - dy, x + dx, y + dy, i => {
      const far = ((this.px[i] - x) / dx) ** 2 + ((this.py[i] - y) / dy) ** 2;
      if (far < least) {
        least = far;
        best = i;
      }
    });
    return best;
  }

  /** Every point of the grid's cells that a box meets. @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1
   * @param {(row: number) => void} each */
  within(x0, y0, x1, y1, each) {
    const w = this.whole,
      {starts, rows} = this.cells(),
      cell = (/** @type {number} */ v, /** @type {number} */ low, /** @type {number} */ size) =>
        Math.min(CELLS - 1, Math.max(0, Math.floor(((v - low) / size) * CELLS)));
    const [a, b, c, d] = [cell(x0, w.x, w.w), cell(x1, w.x, w.w), cell(y0, w.y, w.h), cell(y1, w.y, w.h)];
    for (let row = c; row <= d; row++)
      for (let k = starts[row * CELLS + a], end = starts[row * CELLS + b + 1]; k < end; k++) each(rows[k]);
  }

  cells() {
    return (this.grid ??= gridded(this.px, this.py, this.whole));
  }

  /** The points inside a polygon: whole cells of the grid where no edge passes, point by point where one does.
   * @param {[number, number][]} corners @returns {Uint32Array} */
  inside(corners) {
    const {starts, rows} = this.cells(),
      w = this.whole,
      px = this.px,
      py = this.py,
      xs = corners.map(c => c[0]),
      ys = corners.map(c => c[1]),
      many = corners.length;
    const chosen = new Uint8Array(this.n),
      edge = edgeCells(corners, w),
      holds = (/** @type {number} */ x, /** @type {number} */ y) => {
        let within = false;
        for (let a = 0, b = many - 1; a < many; b = a++)
          if (ys[a] > y !== ys[b] > y && x < ((xs[b] - xs[a]) * (y - ys[a])) / (ys[b] - ys[a]) + xs[a])
            within = !within;
        return within;
      };
    let count = 0;
    for (let cell = 0; cell < CELLS * CELLS; cell++) {
      const begin = starts[cell],
        end = starts[cell + 1];
      if (begin === end) continue;
      const all =
        !edge[cell] &&
        holds(w.x + (((cell % CELLS) + 0.5) / CELLS) * w.w, w.y + ((Math.floor(cell / CELLS) + 0.5) / CELLS) * w.h);
      if (!all && !edge[cell]) continue;
      for (let k = begin; k < end; k++)
        if (all || holds(px[rows[k]], py[rows[k]])) {
          chosen[rows[k]] = 1;
          count++;
        }
    }
    const found = new Uint32Array(count);
    for (let i = 0, k = 0; k < count; i++) if (chosen[i]) found[k++] = i;
    return found;
  }

  // hands ---------------------------------------------------------------------------------------------------------
  listen() {
    const over = this.over,
      spot = (/** @type {any} */ event) => {
        const box = over.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
      };
    over.addEventListener(
      "wheel",
      event => {
        event.preventDefault();
        const [left, top] = spot(event);
        this.zoom(Math.exp(Math.sign(event.deltaY) * Math.min(Math.abs(event.deltaY), 60) * 0.004), left, top);
      },
      {passive: false},
    );
    over.addEventListener("pointerdown", event => {
      over.setPointerCapture(event.pointerId);
      const [left, top] = spot(event);
      this.drag = {left, top, view: {...this.view}, far: 0};
      if (event.shiftKey || this.wantsLasso) this.lasso = {corners: [this.from(left, top)], cursor: null};
    });
    over.addEventListener("pointermove", event => {
      if (!this.drag) return;
      const [left, top] = spot(event),
        {width, height} = this.inner();
      this.drag.far = Math.max(this.drag.far, Math.hypot(left - this.drag.left, top - this.drag.top));
      if (this.lasso) {
        this.lasso.corners.push(this.from(left, top));
        this.drawOver();
        return;
      }
      if (this.told.dragged?.(...this.from(left, top), false)) return;
      this.look({
        ...this.drag.view,
        x: this.drag.view.x - ((left - this.drag.left) / width) * this.view.w,
        y: this.drag.view.y + ((top - this.drag.top) / height) * this.view.h,
      });
      this.draw(true);
    });
    const up = (/** @type {any} */ event) => {
      if (!this.drag) return;
      const [left, top] = spot(event),
        moved = this.drag.far > 4;
      this.drag = null;
      if (this.lasso) return this.closeLasso();
      if (this.told.dragged?.(...this.from(left, top), true)) return;
      if (!moved) {
        const row = this.pick(left, top);
        if (row >= 0) this.told.picked?.(row);
      }
    };
    over.addEventListener("pointerup", up);
    over.addEventListener("pointercancel", () => {
      this.drag = null;
      this.lasso = null;
      this.draw();
    });
    over.addEventListener("keydown", event => this.key(event));
  }

  /** @param {number} factor @param {number} [left] @param {number} [top] */
  zoom(factor, left, top) {
    const {width, height} = this.inner(),
      [x, y] = this.from(left ?? MARGIN.left + width / 2, top ?? MARGIN.top + height / 2),
      v = this.view;
    this.look({x: x + (v.x - x) * factor, y: y + (v.y - y) * factor, w: v.w * factor, h: v.h * factor});
    this.draw(true);
  }

  fit() {
    this.look({...this.whole});
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[event.key],
      far = event.shiftKey ? 0.1 : 0.02;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.lasso?.cursor) {
      if (step) {
        this.lasso.cursor[0] += step[0] * far * this.view.w;
        this.lasso.cursor[1] += step[1] * far * this.view.h;
      } else if (event.key === " ") {
        this.lasso.corners.push([...this.lasso.cursor]);
        this.told.say?.(`Corner ${this.lasso.corners.length}. Enter closes the lasso.`);
      } else if (event.key === "Enter") return (event.preventDefault(), this.closeLasso());
      else if (event.key === "Escape") {
        this.lasso = null;
        this.told.say?.("Lasso left.");
      } else return;
      event.preventDefault();
      event.stopPropagation();
      this.drawOver();
      return;
    }
    if (event.key === "+" || event.key === "=") this.zoom(0.8);
    else if (event.key === "-") this.zoom(1.25);
    else if (event.key === "0") this.fit();
    else if (step && this.told.stepped) this.told.stepped(step[0], step[1], event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Draw round rows with the arrow keys. */
  keyLasso() {
    this.over.focus();
    this.lasso = {corners: [], cursor: [this.view.x + this.view.w / 2, this.view.y + this.view.h / 2]};
    this.told.say?.(
      "Lasso by keys: arrows move the cross (with Shift further), Space sets a corner, Enter closes it, Escape leaves.",
    );
    this.drawOver();
  }

  closeLasso() {
    const corners = this.lasso?.corners ?? [],
      begun = performance.now();
    this.lasso = null;
    const rows = corners.length > 2 ? this.inside(corners) : new Uint32Array(0);
    this.lassoTime = performance.now() - begun;
    this.told.lassoed?.(rows);
    this.draw();
  }
}
