// Where answers come from: this computer's server, or the notebook's kernel. Both know the same names (explorer/endpoints.py).

import {unpacked} from "./packed.js";

const KEPT = 6; // columns of a large table that are kept

/** @typedef {{json: (name: string, asked?: any) => Promise<any>, bytes: (name: string) => Promise<ArrayBuffer>}} Source asked: what
 *   a name is asked with, which may be too long for an address */

/** @returns {Source} */
export function httpSource() {
  const ask = async (/** @type {string} */ name, /** @type {any} */ asked = undefined) => {
    const how = asked === undefined ? {} : {method: "POST", body: JSON.stringify(asked)},
      answer = await fetch(new URL(name, document.baseURI), {cache: "no-store", ...how});
    if (!answer.ok)
      throw new Error(answer.status === 404 ? `there is no ${name}` : `the explorer answered ${answer.status}`);
    return answer;
  };
  return {
    json: async (name, asked) => unpacked(await (await ask(name, asked)).json()),
    bytes: async name => (await ask(name)).arrayBuffer(),
  };
}

/** The same over the messages of a widget. @param {any} model @returns {Source & {close: () => void}} */
export function widgetSource(model) {
  /** @type {Map<number, (answer: any) => void>} */ const waiting = new Map();
  let last = 0;
  const heard = (/** @type {any} */ message, /** @type {DataView[]} */ buffers) => {
    waiting.get(message.id)?.({message, buffers});
    waiting.delete(message.id);
  };
  model.on("msg:custom", heard);
  const ask = (/** @type {string} */ name, /** @type {any} */ asked = undefined) =>
    new Promise((done, fail) => {
      const id = ++last;
      waiting.set(id, ({message, buffers}) => {
        if (!message.found) return fail(new Error(`there is no ${name}`));
        const view = buffers[0];
        done(view.buffer ? view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) : view);
      });
      model.send({id, get: name, asked: asked === undefined ? "" : JSON.stringify(asked)});
    });
  return {
    bytes: name => /** @type {Promise<ArrayBuffer>} */ (ask(name)),
    json: async (name, asked) =>
      unpacked(JSON.parse(new TextDecoder().decode(/** @type {ArrayBuffer} */ (await ask(name, asked))))),
    close: () => model.off("msg:custom", heard),
  };
}

/** Questions one at a time: while one is under way the latest waits, and those that it overtakes are never asked (null).
 * @template T @param {(name: string) => Promise<T>} ask @returns {(name: string) => Promise<T | null>} */
export function latestOnly(ask) {
  let busy = false;
  /** @type {((go: boolean) => void) | null} */ let waiting = null;
  return async name => {
    waiting?.(false);
    waiting = null;
    if (busy && !(await new Promise(done => (waiting = done)))) return null;
    busy = true;
    try {
      return await ask(name);
    } finally {
      busy = false;
      const next = /** @type {((go: boolean) => void) | null} */ (waiting);
      waiting = null;
      next?.(true);
    }
  };
}

/** The table as the page asks for it: columns, labels and rows, each fetched once. */
export class TableData {
  /** @param {Source} source @param {any} facts */
  constructor(source, facts) {
    this.source = source;
    this.facts = facts;
    /** @type {Map<string, Promise<any>>} */ this.kept = new Map();
    /** @type {Float32Array | null} */ this.order = null;
  }

  /** @param {string} name @param {() => Promise<any>} make */
  once(name, make) {
    const had = this.kept.get(name);
    if (had) return had;
    const made = make();
    this.kept.set(name, made);
    made.catch(() => this.kept.delete(name));
    if (this.facts.n > 200_000)
      for (const old of [...this.kept.keys()].filter(k => k.startsWith("column/")).slice(0, -KEPT))
        this.kept.delete(old);
    return made;
  }

  /** One number a row: "axis/0", "sd/0", "column/3", "extra/gaps", "order". @param {string} name @returns {Promise<any>} */
  numbers(name) {
    const kind = this.facts.numbers.double ? Float64Array : Float32Array;
    if (name === "order" && this.facts.counted)
      return Promise.resolve((this.order ??= Float32Array.from({length: this.facts.n}, (_, i) => i + 1)));
    if (name === "order") return this.once(name, async () => Float64Array.from(new Int32Array(await this.source.bytes("numbers"))));
    return this.once(name, async () => new kind(await this.source.bytes(name)));
  }

  /** @param {number} k @returns {Promise<Int32Array>} */
  codes(k) {
    return this.once(`label/${k}`, async () => new Int32Array(await this.source.bytes(`label/${k}`)));
  }

  /** A number of a column's file as the model takes it. @param {number} j @param {number} v */
  inUnits(j, v) {
    return v / this.facts.numbers.scale[j] + this.facts.numbers.shift[j];
  }

  /** @returns {Promise<string[] | null>} */
  names() {
    if (this.facts.names) return Promise.resolve(this.facts.names);
    return this.facts.numbered ? Promise.resolve(null) : this.once("names", () => this.source.json("names.json"));
  }
}
