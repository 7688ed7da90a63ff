// Colours, ticks and small pictures that several screens draw.

/** One colour and one shape a group; colours of Okabe and Ito, the light ones darker on white and lighter on black. */
export const GROUP_COLOURS = {
  light: ["#0072b2", "#c04f00", "#00795a", "#a8447c", "#7a5c00", "#2a86b8", "#000000", "#6b6b6b"],
  dark: ["#56b4e9", "#ff9d4d", "#2fd3a4", "#f29ac8", "#f0e442", "#9ad0f7", "#ffffff", "#b0b0b0"],
};
export const SHAPES = ["disc", "square", "triangle", "diamond", "cross", "plus"];
const SEQUENCE = {
  // dark blue to yellow, even steps of lightness; turned round on black
  light: ["#1d1147", "#3b3177", "#4a5a8c", "#53808f", "#5fa287", "#86bf6d", "#c9d24b"],
  dark: ["#4a4f9c", "#5273b0", "#5a97b4", "#69b8a8", "#93d28a", "#cbe56a", "#fdf6a3"],
};

export const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;
const theme = () => (isDark() ? "dark" : "light");

/** @param {string} hex @returns {[number, number, number]} */
export const rgb = hex =>
  /** @type {[number, number, number]} */ ([1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16)));

/** The colour of a share between 0 and 1. @param {number} share @returns {[number, number, number]} */
export function sequential(share) {
  const stops = SEQUENCE[theme()],
    at = Math.min(Math.max(share, 0), 1) * (stops.length - 1),
    k = Math.min(Math.floor(at), stops.length - 2);
  const [a, b] = [rgb(stops[k]), rgb(stops[k + 1])];
  return /** @type {[number, number, number]} */ (a.map((v, c) => Math.round(v + (b[c] - v) * (at - k))));
}

/** @param {number} code @returns {[number, number, number]} */
export const groupColour = code => rgb(GROUP_COLOURS[theme()][code % 8]);

/** Round numbers inside an interval, two at least: one alone has no scale. @param {number} low @param {number} high @param {number} [many] @returns {number[]} */
export function ticks(low, high, many = 6) {
  const rough = (high - low) / many;
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough)),
    step = power * ([1, 2, 5].find(s => s * power >= rough) ?? 10),
    out = [];
  for (let k = Math.ceil(low / step); k * step <= high && out.length < 50; k++) out.push(k * step);
  return out.length < 2 && many < 12 ? ticks(low, high, 2 * many) : out;
}

/** @param {string} name @param {Element} host */
export const ink = (name, host) => getComputedStyle(host).getPropertyValue(name).trim() || "#444";

/** A canvas as large as its box, in the screen's own pixels. @param {HTMLCanvasElement} canvas */
export function fitted(canvas) {
  const box = canvas.getBoundingClientRect(),
    ratio = Math.min(devicePixelRatio || 1, 2);
  const [w, h] = [Math.max(1, Math.round(box.width * ratio)), Math.max(1, Math.round(box.height * ratio))];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  return {w, h, ratio, width: box.width, height: box.height};
}

const SVG = "http://www.w3.org/2000/svg";
/** @param {string} tag @param {Record<string, any>} facts @param {...(Node | string)} inside @returns {any} */
export function svg(tag, facts = {}, ...inside) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(facts)) made.setAttribute(key, String(value));
  made.append(...inside);
  return made;
}

/** The middle 98 % of numbers, so that one far row does not take all colours.
 * @param {ArrayLike<number>} values @returns {[number, number]} */
export function colourRange(values) {
  const step = Math.max(1, Math.floor(values.length / 20000)),
    sample = /** @type {number[]} */ ([]);
  for (let i = 0; i < values.length; i += step) if (Number.isFinite(values[i])) sample.push(values[i]);
  sample.sort((a, b) => a - b);
  if (!sample.length) return [0, 1];
  const at = (/** @type {number} */ share) => sample[Math.round(share * (sample.length - 1))];
  const [low, high] = [at(0.01), at(0.99)];
  return low < high
    ? [low, high]
    : [sample[0], sample[sample.length - 1] > sample[0] ? sample[sample.length - 1] : sample[0] + 1];
}
