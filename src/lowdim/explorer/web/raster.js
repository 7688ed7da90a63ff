// Points on a plain canvas: outlines while they are few, stamps written into an image of our own where they are many. A
// million points take a twentieth of a second, on a computer without a graphics card too.
import {fitted, ink, rgb} from "./draw.js";

const OUTLINED = 3_000; // points up to which each is an outline, between pixels too

/** @typedef {{side: number, alpha: Uint8Array}} Stamp how much of each pixel of a square a point covers */

export class Raster {
  /** @type {Map<number, Stamp>} */ stamps = new Map();
  /** @type {ImageData | null} */ image = null;

  /** @param {import("./scatter.js").Scatter} map @param {number} step every so many-th point is drawn */
  draw(map, step) {
    const size = fitted(map.points),
      context = /** @type {CanvasRenderingContext2D} */ (map.points.getContext("2d", {alpha: false}));
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = ink("--paper", map.element);
    context.fillRect(0, 0, size.w, size.h);
    map.n <= OUTLINED ? this.outlines(map, context, size.ratio) : this.stamped(map, context, size, step);
  }

  /** @param {import("./scatter.js").Scatter} map @param {CanvasRenderingContext2D} context @param {number} ratio */
  outlines(map, context, ratio) {
    const {px, py, colour: c, how} = map,
      {left, top, width, height} = map.frame();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    for (const front of [0, 255])
      for (let i = 0; i < map.n; i++) {
        if (how[4 * i + 3] !== front) continue;
        const [x, y] = map.at(px[i], py[i]);
        context.fillStyle =
          context.strokeStyle = `rgba(${c[4 * i]},${c[4 * i + 1]},${c[4 * i + 2]},${c[4 * i + 3] / 255})`;
        inked(context, how[4 * i], how[4 * i + 1], x, y, (map.pointSize() / 2) * grown(how[4 * i + 2]));
      }
    context.restore();
  }

  /** @param {import("./scatter.js").Scatter} map @param {CanvasRenderingContext2D} context
   * @param {{w: number, h: number, ratio: number}} size @param {number} step */
  stamped(map, context, {w, h, ratio}, step) {
    if (this.image?.width !== w || this.image.height !== h) this.image = context.createImageData(w, h);
    const frame = map.frame(),
      pixels = new Uint32Array(this.image.data.buffer),
      paper = rgb(ink("--paper", map.element));
    pixels.fill(paper[0] | (paper[1] << 8) | (paper[2] << 16) | (255 << 24));
    const box = [
      Math.ceil(frame.left * ratio),
      Math.ceil(frame.top * ratio),
      Math.floor((frame.left + frame.width) * ratio),
      Math.floor((frame.top + frame.height) * ratio),
    ];
    const [x0, y0] = map.at(0, 0),
      [x1, y1] = map.at(1, 1),
      across = [(x1 - x0) * ratio, x0 * ratio],
      down = [(y1 - y0) * ratio, y0 * ratio];
    for (const front of map.fronts ? [0, 255] : [0])
      this.pass(map, pixels, w, box, across, down, ratio * map.pointSize(), front, step);
    context.putImageData(this.image, 0, 0);
  }

  /** One walk over the points, those in front or those behind. @param {import("./scatter.js").Scatter} map
   * @param {Uint32Array} pixels @param {number} w @param {number[]} box @param {number[]} across @param {number[]} down
   * @param {number} size @param {number} front @param {number} step */
  pass(map, pixels, w, [left, top, right, bottom], [ax, bx], [ay, by], size, front, step) {
    const {px, py, n} = map,
      colours = new Uint32Array(map.colour.buffer),
      hows = new Uint32Array(map.how.buffer);
    let last = -1,
      {side, alpha} = this.stamp(0, size, map.plain());
    for (let i = 0; i < n; i += step) {
      const how = hows[i];
      if (how >>> 24 !== front) continue;
      if ((how & 0xffffff) !== last) {
        last = how & 0xffffff;
        ({side, alpha} = this.stamp(last, size, map.plain()));
      }
      const x = Math.round(px[i] * ax + bx - side / 2),
        y = Math.round(py[i] * ay + by - side / 2);
      if (!(x >= left && y >= top && x + side <= right && y + side <= bottom)) continue; // outside, or a gap
      const colour = colours[i],
        strong = colour >>> 24,
        [r, g, b] = [colour & 255, (colour >>> 8) & 255, (colour >>> 16) & 255];
      for (let v = 0, k = 0; v < side; v++)
        for (let at = (y + v) * w + x, end = at + side; at < end; at++, k++) {
          const cover = ((alpha[k] * strong + 128) * 257) >>> 16, // of 255
            rest = 255 - cover,
            under = pixels[at];
          if (!cover) continue;
          pixels[at] =
            mixed(under & 255, rest, r * cover) |
            (mixed((under >>> 8) & 255, rest, g * cover) << 8) |
            (mixed((under >>> 16) & 255, rest, b * cover) << 16) |
            (255 << 24);
        }
    }
  }

  /** The stamp of a kind of point: shape, hollow and size in the bytes of `how`. @param {number} how @param {number} size
   * @param {boolean} plain @returns {Stamp} */
  stamp(how, size, plain) {
    const grownSize = size * grown((how >>> 16) & 255),
      key = how + 2 ** 24 * (Math.round(16 * size) + (plain ? 2 ** 16 : 0)),
      had = this.stamps.get(key);
    if (had) return had;
    const side = Math.max(1, plain ? Math.round(grownSize) : Math.ceil(grownSize) + 1),
      alpha = plain ? new Uint8Array(side * side).fill(255) : covered(side, grownSize / 2, how & 255, (how >>> 8) & 255);
    const made = {side, alpha};
    if (this.stamps.size > 2000) this.stamps.clear();
    this.stamps.set(key, made);
    return made;
  }
}

/** A part of a colour over another, of 255, without a division. @param {number} under @param {number} rest @param {number} over */
const mixed = (under, rest, over) => ((under * rest + over + 128) * 257) >>> 16;

/** What a point's size is multiplied by. @param {number} byte */
const grown = byte => 0.5 + (byte / 255) * 2.5;

/** A point, full or hollow. @param {CanvasRenderingContext2D} context @param {number} shape
 * @param {number} hollow @param {number} x @param {number} y @param {number} r */
function inked(context, shape, hollow, x, y, r) {
  const open = hollow && shape < 4; // a cross has no inside
  context.lineWidth = 0.4 * r;
  context.beginPath();
  outline(context, shape, x, y, open ? 0.8 * r : r);
  open ? context.stroke() : context.fill();
}

/** How much of each pixel a shape covers. @param {number} side @param {number} r @param {number} shape @param {number} hollow */
function covered(side, r, shape, hollow) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  inked(context, shape, hollow, side / 2, side / 2, r);
  return Uint8Array.from(context.getImageData(0, 0, side, side).data.filter((_, k) => k % 4 === 3));
}

/** The outline of a shape. @param {CanvasRenderingContext2D} context @param {number} shape @param {number} x @param {number} y @param {number} r */
export function outline(context, shape, x, y, r) {
  if (shape === 1) context.rect(x - r * 0.87, y - r * 0.87, 1.74 * r, 1.74 * r);
  else if (shape === 2) {
    context.moveTo(x, y - r);
    context.lineTo(x + r, y + 0.8 * r);
    context.lineTo(x - r, y + 0.8 * r);
    context.closePath();
  } else if (shape === 3) {
    context.moveTo(x, y - r);
    context.lineTo(x + r, y);
    context.lineTo(x, y + r);
    context.lineTo(x - r, y);
    context.closePath();
  } else if (shape === 4) {
    for (const [a, b] of [
      [-1, -1],
      [1, -1],
    ]) {
      context.moveTo(x + a * r, y + b * r);
      context.lineTo(x + a * r * 0.6, y + b * r);
      context.lineTo(x - a * r, y - b * r * 0.6);
      context.lineTo(x - a * r, y - b * r);
      context.closePath();
    }
  } else if (shape === 5) {
    context.rect(x - r, y - r * 0.28, 2 * r, 0.56 * r);
    context.rect(x - r * 0.28, y - r, 0.56 * r, 2 * r);
  } else context.arc(x, y, r, 0, 2 * Math.PI);
}
