/**
 * Chat text as the parts of a message.
 *
 *     <tool id="c1">read_file(path=a.txt)
 *     its first line…</tool>
 *     🔧 **Tool Call:** `save_file(file_name=a.py)`
 *     ✅ **`save_file` result:**
 *     ok
 *
 * A line break inside a tag means that the call is completed. Several calls of the old form may stand
 * before their results, with only blanks between: each result goes to the first call of its tool that
 * has none. What looks like a block and is none stays prose; a tag that the text ends in is prose
 * with a problem beside it.
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
// A line of the old form ends at the next call on it, too.
const OLD_LINE = /([^\n]*?)(\n|🔧\ufe0f? \*\*Tool Call:\*\* `|$)/y;
const OLD_NEXT = /([ \t\r\n]{0,1000})🔧\ufe0f? \*\*Tool Call:\*\* `/y;
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
   * A call of the old form, and as long as calls wait for their results, those that follow with only
   * blanks between. A result goes to the first call of its tool that has none.
   * @param {number} at
   * @returns {Found | null}
   */
  #old(at) {
    /** @type {Part[]} */
    const parts = [];
    /** @type {Map<string, Part[]>} */
    const waiting = new Map();
    let [end, gap] = [at, ""];
    for (let start = at; ; ) {
      const call = this.#oldCall(start);
      if (!call) return parts.length ? { parts, end } : null;
      parts.push(...prose(gap));
      const { name } = unescapeCall(call.text);
      const own = waiting.has(name) ? null : this.#oldResult(call.end, (one) => one === name);
      const part = this.#call(call.text, own?.result ?? null);
      parts.push(part);
      if (!own) waiting.set(name, waiting.get(name) ?? []).get(name)?.push(part);
      end = this.#lateResults(own?.end ?? call.end, waiting);
      const next = waiting.size ? match(OLD_NEXT, this.text, end) : null;
      if (!next) return { parts, end };
      gap = next[1] ?? "";
      start = end + next[0].length;
    }
  }

  /** @param {number} at */
  #oldCall(at) {
    const [, line = "", ending = ""] = match(OLD_LINE, this.text, at) ?? [];
    const call = oldCall(line, ending !== "");
    return call && { text: call.text, end: at + call.end };
  }

  /**
   * @param {number} at
   * @param {(name: string) => boolean} isOurs
   */
  #oldResult(at, isOurs) {
    const head = match(OLD_HEAD, this.text, at);
    const name = head?.[1] ?? "";
    if (!head || !isOurs(name)) return null;
    const start = at + head[0].length;
    OLD_END.lastIndex = start;
    const end = OLD_END.exec(this.text)?.index ?? this.text.length;
    return { name, result: strip(this.text.slice(start, end)), end };
  }

  /**
   * Give the calls that wait the results that come next; return where those end.
   * @param {number} at
   * @param {Map<string, Part[]>} waiting
   */
  #lateResults(at, waiting) {
    let end = at;
    while (waiting.size) {
      const found = this.#oldResult(end, (name) => waiting.has(name));
      if (!found) break;
      const calls = waiting.get(found.name) ?? [];
      Object.assign(calls.shift() ?? {}, ending(found.result));
      if (!calls.length) waiting.delete(found.name);
      end = found.end;
    }
    return end;
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
    return { ...call, ...(result === null ? { state: "input-available" } : ending(result)) };
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
 * How a call ended, by its result as shown.
 * @param {string} result
 */
function ending(result) {
  const { text, failed } = unescapeResult(result);
  return failed
    ? { state: "output-error", errorText: text }
    : { state: "output-available", output: text };
}

/**
 * The call at the start of a line, right after the marker with its opening backtick.
 *
 * More than one backtick open a code span as in Markdown, which ends with as many. After one, the
 * text may hold backticks as well. It ends with the first that closes a balanced `name(…)`, or a
 * name alone. Otherwise the line must be whole: then it ends with the last of the line, if that
 * follows a `)`, or the first that does, or the first.
 * @param {string} line
 * @param {boolean} isWhole
 */
function oldCall(line, isWhole) {
  const ticks = /^`*/.exec(line)?.[0].length ?? 0;
  const end = ticks ? spanEnd(line, ticks) : tickEnd(line, isWhole);
  if (end === null) return null;
  const inner = line.slice(ticks, end);
  const isPadded = inner.length > 2 && inner.startsWith(" ") && inner.endsWith(" ");
  const text = ticks && isPadded ? inner.slice(1, -1) : inner;
  return isCall(text) ? { text, end: end + ticks + 1 } : null;
}

/**
 * @param {string} line
 * @param {number} ticks
 */
function spanEnd(line, ticks) {
  const runs = [...line.slice(ticks).matchAll(/`+/g)];
  const closing = runs.find(([run]) => run.length === ticks + 1);
  return closing ? ticks + closing.index : null;
}

/**
 * @param {string} line
 * @param {boolean} isWhole
 */
function tickEnd(line, isWhole) {
  let [depth, isOpen] = [0, false];
  const ticks = [];
  for (const mark of line.matchAll(/[()`]/g)) {
    if (mark[0] === "`") {
      if (!isOpen || (depth === 0 && line[mark.index - 1] === ")")) return mark.index;
      ticks.push(mark.index);
    } else {
      isOpen ||= mark[0] === "(";
      depth += mark[0] === "(" ? 1 : -1;
    }
  }
  const after = ticks.filter((at) => line[at - 1] === ")");
  const last = after.at(-1);
  if (!isWhole) return null;
  return (last && !strip(line.slice(last + 1)) ? last : after[0]) ?? ticks[0] ?? null;
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
