// Buttons and tables that several screens are made of.
import {el} from "./words.js";

/** A button. @param {string} text @param {() => void} onclick @param {Record<string, any>} [facts] */
export const button = (text, onclick, facts = {}) => el("button", {type: "button", onclick, ...facts}, text);

/** A field with its name above it. @param {string} name @param {...any} inside */
export const field = (name, ...inside) => el("label", {class: "field"}, el("span", {}, name), ...inside);

/** A list of things to pick, each with what is said beside it.
 * @param {{text: string, pick: () => void, current?: boolean, beside?: string}[]} items */
export const pickList = items =>
  el(
    "ul",
    {class: "near"},
    ...items.map(({text, pick, current, beside}) =>
      el("li", {}, button(text, pick, {class: "pick", "aria-current": current ? "true" : undefined}), beside ?? ""),
    ),
  );

/** A table that may be scrolled sideways; all columns but the first `words` hold numbers.
 * @param {string} caption @param {string[]} heads @param {any} body @param {number} [words] */
export const dataTable = (caption, heads, body, words = 1) =>
  el(
    "div",
    {class: "scroll"},
    el(
      "table",
      {},
      el("caption", {}, caption),
      el(
        "thead",
        {},
        el("tr", {}, ...heads.map((text, k) => el("th", {scope: "col", class: k < words ? "" : "n"}, text))),
      ),
      body,
    ),
  );

/** @param {string} name @param {...any} cells */
export const numbersRow = (name, ...cells) =>
  el("tr", {}, el("th", {scope: "row"}, name), ...cells.map(cell => el("td", {class: "n"}, cell)));
