/**
 * The blocks of a timeline, and which of them are listed: by type, by words, hidden or not.
 *
 *     blocks.add(entries);     blocks.rows({type: "", words: "pdf", withHidden: true})
 */

/** @typedef {{type: string, author: string, turn_id: string, ts: string, mime?: string, path?: string, call_id?: string, tool_id?: string, text?: string, base64?: string, meta?: Record<string, any>}} Block */
/** @typedef {{seq: number, hash: string, block: Block}} Entry */
/** @typedef {{type: string, words: string, withHidden: boolean}} Filter */
/** @typedef {{kind: "turn", words: string} | {kind: "cache"} | {kind: "block", entry: Entry}} Row */
/** @typedef {"hidden" | "error" | "running"} Tag */

const RESULTS = new Set(["react.tool.result", "react.notice"]);

export class Blocks {
  constructor() {
    /** @type {Entry[]} */
    this.entries = [];
    /** @type {Set<number>} */
    this.hidden = new Set();
    this.cachePoint = 0;
    this.size = 0;
    /** @type {Set<string>} */
    this.types = new Set();
    /** @type {Set<string>} */
    this._answered = new Set();
    /** @type {Set<string>} */
    this._ended = new Set();
    /** @type {WeakMap<Entry, string>} */
    this._words = new WeakMap();
  }

  get last() {
    return this.entries.at(-1)?.seq ?? 0;
  }

  /**
   * Take blocks that follow; one that is known already is passed over.
   * @param {Entry[]} entries
   */
  add(entries) {
    for (const entry of entries) {
      if (entry.seq <= this.last) continue;
      const { block } = entry;
      this.entries.push(entry);
      this.size += sizeOf(block);
      this.types.add(block.type);
      if (block.type === "react.tool.result") this._answered.add(callOf(block));
      if (block.type === "timeline.turn") this._ended.add(block.turn_id);
    }
  }

  /**
   * The block of a number; numbers may be missing.
   * @param {number} seq
   */
  at(seq) {
    const guess = this.entries[seq - 1];
    return guess?.seq === seq ? guess : this.entries.find((entry) => entry.seq === seq);
  }

  /**
   * @param {Entry} entry
   * @returns {Tag[]}
   */
  tags({ seq, block }) {
    /** @type {Tag[]} */
    const tags = this.hidden.has(seq) ? ["hidden"] : [];
    if (isError(block)) tags.push("error");
    const waits = block.type === "react.tool.call" && !this._answered.has(callOf(block));
    if (waits && !this._ended.has(block.turn_id)) tags.push("running");
    return tags;
  }

  /**
   * What is listed, with a heading for each turn and a line at the cache point.
   * @param {Filter} filter
   * @returns {Row[]}
   */
  rows(filter) {
    /** @type {Row[]} */
    const rows = [];
    let turn = "";
    let isFrozen = this.cachePoint > 0;
    for (const entry of this.entries) {
      if (isFrozen && entry.seq > this.cachePoint) {
        isFrozen = false;
        if (rows.length) rows.push({ kind: "cache" });
      }
      if (!this._fits(entry, filter)) continue;
      if (entry.block.turn_id !== turn) {
        turn = entry.block.turn_id;
        rows.push({ kind: "turn", words: turnWords(turn) });
      }
      rows.push({ kind: "block", entry });
    }
    return rows;
  }

  /**
   * @param {Entry} entry
   * @param {Filter} filter
   */
  _fits(entry, { type, words, withHidden }) {
    if (type && entry.block.type !== type) return false;
    if (!withHidden && this.hidden.has(entry.seq)) return false;
    return !words || this._wordsOf(entry).includes(words);
  }

  /** @param {Entry} entry */
  _wordsOf(entry) {
    let words = this._words.get(entry);
    if (words === undefined) {
      const { path = "", tool_id = "", text = "" } = entry.block;
      words = `${path}\n${tool_id}\n${text}`.toLowerCase();
      this._words.set(entry, words);
    }
    return words;
  }
}

/**
 * Bytes of what a block holds.
 * @param {Block} block
 */
export function sizeOf({ text = "", base64 = "" }) {
  return utf8Length(text) + Math.floor((base64.length * 3) / 4);
}

/** @param {string} text */
function utf8Length(text) {
  return /^[\x00-\x7f]*$/.test(text) ? text.length : new TextEncoder().encode(text).length;
}

/** @param {Block} block */
const callOf = (block) => `${block.turn_id} ${block.call_id ?? ""}`;

/** @param {string} turn */
function turnWords(turn) {
  const found = /^turn_(\d+)$/.exec(turn);
  return found ? `Turn ${found[1]}` : `Turn ${turn}`;
}

/** @param {Block} block */
function isError({ type, mime, text }) {
  if (!RESULTS.has(type) || mime !== "application/json" || !text?.includes('"error"')) return false;
  try {
    return Boolean(JSON.parse(text)?.error);
  } catch {
    return false;
  }
}
