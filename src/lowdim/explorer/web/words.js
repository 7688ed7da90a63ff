// Numbers and elements as people read them; numbers as text/format.py writes them.

/** So many figures as printf's %g has them. @param {number} value @param {number} most @returns {string} */
export function general(value, most) {
  if (value === 0) return "0";
  // a tie goes to the even figure, as in Python
  const exact = value.toExponential(most + 30).replace(/^-/, ""),
    [kept, left] = [exact.slice(0, most + 1), exact.slice(most + 1).split("e")[0]],
    down = /^50*$/.test(left) && /[02468]\.?$/.test(kept) ? 1 - Number.EPSILON : 1,
    [, digits, power] = /** @type {RegExpMatchArray} */ ((value * down).toExponential(most - 1).match(/^(.*)e(.*)$/));
  const e = Number(power),
    bare = (/** @type {string} */ text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (e < -4 || e >= most) return `${bare(digits)}e${e < 0 ? "-" : "+"}${String(Math.abs(e)).padStart(2, "0")}`;
  return bare(Number((value * down).toPrecision(most)).toFixed(Math.max(most - 1 - e, 0)));
}

/** A number as a person writes it, an exponent only for the very small and the very large.
 * @param {number} value @param {number} [most] @returns {string} */
export function figures(value, most = 3) {
  const short = general(value, most),
    size = Math.abs(Number(short));
  if (!(size >= 1e-3 && size < 1e9)) return short;
  return String(Number(short));
}

/** To the digits that its standard deviation leaves of it. @param {number} value @param {number} sd @param {number} [least] */
export function figuresBySd(value, sd, least = 3) {
  if (value === 0 || !(sd > 0 && sd < Infinity)) return figures(value, 4);
  const digits = Math.floor(Math.log10(Math.abs(value))) - Math.floor(Math.log10(sd)) + 2;
  return figures(value, Math.min(Math.max(digits, least), 12));
}

/** A number of the table as it stands there; one of many digits to those that its sd leaves of it.
 * @param {number} value @param {number} sd */
export function observed(value, sd) {
  const whole = general(value, 15),
    digits = whole.split("e")[0].replace(/[-.]/g, "").replace(/^0+|0+$/g, "");
  return digits.length > 9 && !Number.isInteger(value) ? figuresBySd(value, sd, 6) : whole;
}

/** What the rest of a row says; beyond what the column can be, that end of it.
 * @param {{expected: number, sd: number, limit: number, value: number | null}} cell */
export const expectation = ({expected, sd, limit, value}) =>
  value !== null && limit && (value - expected) * limit >= 0
    ? limit > 0 ? "still more" : "still less"
    : figuresBySd(expected, sd) + (limit > 0 ? " or more" : limit < 0 && expected ? " or less" : "");

/** A p-value in one or two figures. @param {number} p @returns {string} */
export const pValue = p => (p === 0 ? "0" : p < 1e-3 ? p.toExponential(0) : general(p, 2));

/** A probability as a person reads it. @param {number} p */
export const percent = p => (p < 0.01 && p > 0 ? `${general(100 * p, 1)}%` : `${Math.round(100 * p)}%`);

/** @param {number} value @param {number} [digits] */
export const signed = (value, digits = 1) => {
  const size = Math.abs(value).toFixed(digits);
  return `${value < 0 && Number(size) > 0 ? "-" : "+"}${size}`; // nothing is left of -0.04: no minus
};

/** @param {number} many @param {string} noun @param {string} [plural] */
export const counted = (many, noun, plural) =>
  `${many.toLocaleString("en")} ${many === 1 ? noun : (plural ?? noun + "s")}`;

/** An element; texts become text nodes, never markup. @param {string} tag @param {Record<string, any>} [facts]
 * @param {...(Node | string | null | false | undefined)} inside @returns {any} */
export function el(tag, facts = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(facts)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else if (key in made && !key.startsWith("aria") && key !== "list") /** @type {any} */ (made)[key] = value;
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  for (const part of inside) if (part !== null && part !== false && part !== undefined) made.append(part);
  return made;
}

/** A name that fits: the end stays, where long names differ. @param {string} name @param {number} [most] */
export function brief(name, most = 32) {
  const tail = Math.floor(((most - 1) * 2) / 5);
  return name.length <= most ? name : `${name.slice(0, most - 1 - tail).trimEnd()}…${name.slice(-tail).trimStart()}`;
}

/** A text in which columns of very long names have names that fit. @param {string} text @param {{name: string}[]} columns */
export function shortened(text, columns) {
  for (const {name} of columns) if (name.length > 80 && text.length > 80) text = text.replaceAll(name, brief(name, 40));
  return text;
}

/** A name that may break after its signs, not within its words. @param {string} name @param {number} [most] */
export function named(name, most = 60) {
  const made = el("span", {title: name.length > most ? name : undefined});
  for (const part of brief(name, most).split(/(?<=[_.:/ -])/)) made.append(part, el("wbr"));
  return made;
}

/** A word that a shell passes on as it is. @param {string} text */
export const shellWord = text => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\"'\"'")}'`);

/** Names as one word with commas between; one that holds a comma or a quote stands in quotes. @param {string[]} names */
export const joinNames = names =>
  names.map(name => (/[",]|^\s|\s$/.test(name) ? `"${name.replaceAll('"', '""')}"` : name)).join(",");

/** A text as Python writes it. @param {string} text */
export const pythonText = text =>
  JSON.stringify(text).replace(/[\u007f-\u{10ffff}]/gu, c => {
    const code = /** @type {number} */ (c.codePointAt(0)).toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
