// Rows by name and by number, as `lowdim explain --row` finds them (cli/options.py): by name, else as the file counts them.
import {brief, el} from "./words.js";

const WHOLE = /^(0|[1-9]\d{0,8})$/;

export class RowNames {
  /** @param {number} n @param {string[] | null} names null: 1, 2, 3 and so on @param {ArrayLike<number> | null} numbers
   *   as the file counts the rows; null where none was left out */
  constructor(n, names, numbers) {
    this.n = n;
    this.names = names;
    this.numbers = numbers;
    /** @type {Map<string, number> | null} */ this.known = null;
  }

  /** Every word that finds a row; of rows with one name it is the first. */
  get words() {
    if (this.known) return this.known;
    this.known = new Map();
    for (let i = 0; i < this.n; i++) this.known.set(String(this.numbers ? this.numbers[i] : i + 1), i);
    for (let i = this.n - 1; i >= 0; i--) this.known.set(this.nameOf(i), i);
    return this.known;
  }

  get plain() {
    return !this.names && !this.numbers;
  }

  /** @param {number} i */
  nameOf(i) {
    return this.names ? this.names[i] : String(i + 1);
  }

  /** The row of this very name or number, or -1. @param {string} word */
  find(word) {
    if (!this.plain) return this.words.get(word) ?? -1;
    return WHOLE.test(word) && Number(word) >= 1 && Number(word) <= this.n ? Number(word) - 1 : -1;
  }

  /** The word that finds this row: its name, or its number where another has that name; null where there is none.
   * @param {number} i @returns {string | null} */
  wordOf(i) {
    const words = [this.nameOf(i), String(this.numbers ? this.numbers[i] : i + 1)];
    return this.plain ? words[0] : (words.find(word => this.find(word) === i) ?? null);
  }

  /** What tells a row from others of its name; nothing where its name does. @param {number} i */
  apart(i) {
    return this.wordOf(i) === this.nameOf(i) ? "" : ` (row ${this.numbers ? this.numbers[i] : i + 1} of the file)`;
  }

  /** Rows as "1-4,9", in the words that find them; nothing where one of them has no number. @param {ArrayLike<number>} rows */
  spans(rows) {
    const out = [];
    for (let k = 0; k < rows.length; k++) {
      const first = this.numberOf(rows[k]);
      let last = first;
      if (first < 0) return "";
      while (k + 1 < rows.length && this.numberOf(rows[k + 1]) === last + 1) {
        last++;
        k++;
      }
      out.push(first === last ? `${first}` : `${first}-${last}`);
    }
    return out.join(",");
  }

  /** The number that finds a row, or -1. @param {number} i */
  numberOf(i) {
    if (this.plain) return i + 1;
    const words = [this.nameOf(i), String(this.numbers ? this.numbers[i] : i + 1)];
    return Number(words.find(word => WHOLE.test(word) && this.find(word) === i) ?? -1);
  }

  /** The rows that "1-4,9" names. @param {string} text @returns {Uint32Array} */
  rowsOf(text) {
    const found = new Set(),
      most = this.plain ? this.n : [...this.words.keys()].reduce((m, word) => (WHOLE.test(word) ? Math.max(m, Number(word)) : m), 0);
    for (const part of text.split(",")) {
      const span = part.match(/^(\d+)(?:-(\d+))?$/);
      if (!span) continue;
      for (let k = Number(span[1]); k <= Math.min(Number(span[2] ?? span[1]), most); k++) {
        const i = this.find(String(k));
        if (i >= 0) found.add(i);
      }
    }
    return Uint32Array.from(/** @type {Set<number>} */ (found)).sort();
  }

  /** The row somebody looks for: of this name or number, else the first whose name holds these letters; -1 where there is
   * none. @param {string} text */
  search(text) {
    const exact = this.find(text);
    if (exact >= 0 || !text || WHOLE.test(text) || !this.names) return exact;
    return this.names.findIndex(name => name.toLowerCase().includes(text.toLowerCase()));
  }
}

/** A field that finds a row by its name. @param {any} app */
export function searchField(app) {
  const list = app.id(`names-${++app.fields}`),
    options = el("datalist", {id: list});
  const field = el("input", {
    type: "search",
    list,
    autocomplete: "off",
    placeholder: "name or number",
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      if (find()) app.main.focus(); // keys are keys again
    },
    oninput: () => {
      const text = field.value.toLowerCase(),
        names = text && app.rows.names ? app.rows.names : [];
      field.setCustomValidity("");
      options.replaceChildren(
        ...names
          .filter((/** @type {string} */ name) => name.toLowerCase().includes(text))
          .slice(0, 12)
          .map((/** @type {string} */ value) => el("option", {value})),
      );
    },
    onchange: () => {
      if (field.value) find();
    },
  });
  const find = () => {
    const text = field.value.trim(),
      row = app.rows.search(text);
    field.setCustomValidity(row < 0 ? "there is no such row" : "");
    if (row < 0) {
      app.say(`There is no row '${brief(text, 40)}'.`);
      return field.reportValidity();
    }
    field.value = "";
    app.go({row}, {said: `Row ${app.nameOf(row)} found.`});
    return true;
  };
  return el("label", {class: "field search"}, el("span", {}, "Find a row (/)"), field, options);
}
