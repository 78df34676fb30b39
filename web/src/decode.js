/**
 * Server-sent events, read from text that comes in any pieces.
 *
 *     id: 12.3
 *     data: {"type":"text-delta","id":"t1","delta":"Hello"}
 *
 * Lines end with LF, CR LF or CR; a line that begins with `:` is a comment; an empty line ends an
 * event. Where the text ends inside an event, that event is not one: the server sends it again.
 *
 * @module
 */

/** @import {Chunk, StreamEvent} from "./types.js" */

const DONE = "[DONE]";
const LINE_END = /[\r\n]/g;
const BYTE_ORDER_MARK = "\ufeff";

/** Takes text and gives the events that it completes; `lastId` is for `Last-Event-ID`. */
export class EventReader {
  lastId = "";
  /** @type {string[]} The line that is not over, in the pieces that came. */
  #line = [];
  /** @type {string[]} */
  #data = [];
  #hasData = false;
  #afterReturn = false;
  #isFirst = true;

  /**
   * @param {string} text
   * @returns {StreamEvent[]}
   */
  feed(text) {
    /** @type {StreamEvent[]} */
    const events = [];
    let start = 0;
    // A CR LF that was cut in two is one line end.
    if (this.#afterReturn && text) {
      this.#afterReturn = false;
      start = text[0] === "\n" ? 1 : 0;
    }
    LINE_END.lastIndex = start;
    for (let found = LINE_END.exec(text); found; found = LINE_END.exec(text)) {
      this.#line.push(text.slice(start, found.index));
      start = found.index + 1;
      if (found[0] === "\r") {
        if (text[start] === "\n") start += 1;
        else this.#afterReturn = start === text.length;
      }
      LINE_END.lastIndex = start;
      this.#endLine(events);
    }
    if (start < text.length) this.#line.push(text.slice(start));
    return events;
  }

  /** @param {StreamEvent[]} events */
  #endLine(events) {
    let line = this.#line.join("");
    this.#line = [];
    if (this.#isFirst && line.startsWith(BYTE_ORDER_MARK)) line = line.slice(1);
    this.#isFirst = false;
    if (line) this.#field(line);
    else if (this.#hasData) events.push(this.#event());
  }

  /** @param {string} line */
  #field(line) {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const rest = colon < 0 ? "" : line.slice(colon + 1);
    const value = rest.startsWith(" ") ? rest.slice(1) : rest;
    if (name === "data") {
      this.#data.push(value);
      this.#hasData = true;
    } else if (name === "id" && !value.includes("\0")) {
      this.lastId = value;
    }
  }

  /** @returns {StreamEvent} */
  #event() {
    const data = this.#data.join("\n");
    this.#data = [];
    this.#hasData = false;
    return { id: this.lastId, chunk: data === DONE ? null : readChunk(data) };
  }
}

/**
 * The chunk that a text holds. One that holds none is not passed over: it is told of.
 * @param {string} data
 * @returns {Chunk}
 */
export function readChunk(data) {
  try {
    const value = JSON.parse(data);
    if (typeof value?.type === "string" && !Array.isArray(value)) return value;
  } catch {
    // Told of below.
  }
  return { type: "unreadable", text: data };
}

/**
 * The events of a response, as they come. Whoever stops listening ends the response.
 * @param {Response} response
 * @returns {AsyncGenerator<StreamEvent, void, void>}
 */
export async function* readEvents(response) {
  if (!response.body) return;
  const events = new EventReader();
  const decoder = new TextDecoder();
  const bytes = response.body.getReader();
  try {
    for (;;) {
      const { value, done } = await bytes.read();
      yield* events.feed(done ? decoder.decode() : decoder.decode(value, { stream: true }));
      if (done) return;
    }
  } finally {
    bytes.cancel().catch(() => {});
  }
}
