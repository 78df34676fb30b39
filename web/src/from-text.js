/**
 * Chat text as the parts of a message.
 *
 *     <tool id="c1">read_file(path=a.txt)
 *     its first line…</tool>
 *     🔧 **Tool Call:** `save_file(file_name=a.py)`
 *     ✅ **`save_file` result:**
 *     ok
 *
 * A line break inside a tag means that the call is completed. What looks like a block and is none
 * stays prose; a tag that the text ends in is prose with a problem beside it.
 *
 * @module
 */

import { BLANK, strip } from "./blanks.js";
import { unescape, unescapeCall, unescapeProse, unescapeResult } from "./escapes.js";

/** @import {Part} from "./types.js" */

/** What stands at a place of the text: the parts that it is, and where it ends. */
/** @typedef {{parts: Part[], end: number, id?: string}} Found */

const OPENING = /<tool>|<tool id="|<validation>|🔧\ufe0f? \*\*Tool Call:\*\* `/g;
const CLOSING = "</tool>";
const VALIDATION_END = "</validation>";
const ID = /([^"<\n]*)">/y;
const LINE = /([^<\n]*?)(\r?\n|<|$)/y;
const OLD_LINE = /([^`\n]*)`/y;
const OLD_HEAD = /[ \t\r\n]{0,1000}✅\ufe0f? \*\*`([^`\n]*)` result:\*\*(?:\r?\n)?/y;
const OLD_END = /\n[ \t]{0,1000}\r?\n|\n🔧\ufe0f? \*\*Tool Call:\*\* `|\n✅\ufe0f? \*\*`|\n<tool>|\n<tool id="/g;
const NAME_ALONE = new RegExp(`^[\\p{L}\\p{N}_][^${BLANK}]*[${BLANK}]*$`, "u");

/**
 * The parts of a chat text, in their order; prose may be blank.
 * @param {string} text
 * @returns {Part[]}
 */
export function partsOfText(text) {
  return new Reader(typeof text === "string" ? text : "").parts();
}

class Reader {
  #made = 0;
  /** @type {Set<string>} */
  #used = new Set();
  /** @type {Map<string, number>} */
  #copies = new Map();

  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }

  /** @returns {Part[]} */
  parts() {
    /** @type {Part[]} */
    const parts = [];
    let at = 0;
    OPENING.lastIndex = 0;
    for (let mark = OPENING.exec(this.text); mark; mark = OPENING.exec(this.text)) {
      const next = mark.index + mark[0].length;
      const found = this.#read(mark[0], mark.index, next);
      OPENING.lastIndex = found?.end ?? next;
      if (!found) continue;
      parts.push(...prose(this.text.slice(at, mark.index)), ...found.parts);
      at = found.end;
    }
    return [...parts, ...prose(this.text.slice(at))];
  }

  /**
   * @param {string} opening
   * @param {number} start
   * @param {number} next
   * @returns {Found | null}
   */
  #read(opening, start, next) {
    if (opening === "<tool>") return this.#tag(start, next);
    if (opening === "<validation>") return this.#validation(next);
    if (opening !== '<tool id="') return this.#old(next);
    const id = match(ID, this.text, next);
    return id && this.#tag(start, next + id[0].length, unescape(id[1] ?? ""));
  }

  /**
   * @param {number} start
   * @param {number} at
   * @param {string} [id]
   * @returns {Found | null}
   */
  #tag(start, at, id = "") {
    const line = match(LINE, this.text, at);
    const [, call = "", ending = ""] = line ?? [];
    if (!line || !isCall(call)) return null;
    const isOver = ending.endsWith("\n");
    const rest = at + call.length + (isOver ? ending.length : 0);
    const tag = this.text.indexOf("<", rest);
    const end = tag < 0 ? this.text.length : tag;
    if (this.text.startsWith(CLOSING, end)) {
      const result = isOver ? this.text.slice(rest, end) : null;
      return { parts: [this.#call(call, result, id)], end: end + CLOSING.length };
    }
    // Text that comes in pieces ends anywhere, also within the closing tag.
    return CLOSING.startsWith(this.text.slice(end)) ? this.#unclosed(start) : null;
  }

  /**
   * @param {number} start
   * @returns {Found}
   */
  #unclosed(start) {
    const data = { code: "chat-blocks.unclosed", detail: "the text ended inside the tag" };
    const problem = { type: "data-problem", id: `unclosed-${start}`, data };
    const text = { type: "text", text: this.text.slice(start), state: "done" };
    return { parts: [text, problem], end: this.text.length };
  }

  /**
   * @param {number} at
   * @returns {Found | null}
   */
  #validation(at) {
    const end = this.text.indexOf("<", at);
    if (end < 0 || !this.text.startsWith(VALIDATION_END, end)) return null;
    const text = this.text.slice(at, end);
    return { parts: [{ type: "validation", text }], end: end + VALIDATION_END.length };
  }

  /**
   * @param {number} at
   * @returns {Found | null}
   */
  #old(at) {
    const line = match(OLD_LINE, this.text, at);
    const call = line?.[1] ?? "";
    if (!line || !isCall(call)) return null;
    const after = at + line[0].length;
    const head = match(OLD_HEAD, this.text, after);
    if (!head || head[1] !== unescapeCall(call).name) {
      return { parts: [this.#call(call, null)], end: after };
    }
    const start = after + head[0].length;
    OLD_END.lastIndex = start;
    const end = OLD_END.exec(this.text)?.index ?? this.text.length;
    return { parts: [this.#call(call, strip(this.text.slice(start, end)))], end };
  }

  /**
   * @param {string} line
   * @param {string | null} result
   * @param {string} [id]
   * @returns {Part}
   */
  #call(line, result, id = "") {
    const { name, args } = unescapeCall(line);
    const call = {
      type: "dynamic-tool",
      toolCallId: this.#id(id),
      toolName: name,
      shown: `${name}(${args ?? ""})`,
    };
    if (result === null) return { ...call, state: "input-available" };
    const { text, failed } = unescapeResult(result);
    return failed
      ? { ...call, state: "output-error", errorText: text }
      : { ...call, state: "output-available", output: text };
  }

  /** Each id is used once; a call without one gets the next of its own. @param {string} written */
  #id(written) {
    let id = strip(written) ? written : "";
    while (!id || this.#used.has(id)) id = this.#another(written);
    this.#used.add(id);
    return id;
  }

  /** @param {string} written */
  #another(written) {
    if (!strip(written)) {
      this.#made += 1;
      return `tool-call-${this.#made}`;
    }
    const copy = (this.#copies.get(written) ?? 1) + 1;
    this.#copies.set(written, copy);
    return `${written}-${copy}`;
  }
}

/**
 * `name(…)`, or a name alone: anything else is a sentence that mentions the tag.
 * @param {string} line
 */
function isCall(line) {
  return line.includes("(") || NAME_ALONE.test(line);
}

/**
 * @param {string} raw
 * @returns {Part[]}
 */
function prose(raw) {
  return raw ? [{ type: "text", text: unescapeProse(raw), state: "done" }] : [];
}

/**
 * @param {RegExp} pattern
 * @param {string} text
 * @param {number} at
 */
function match(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
