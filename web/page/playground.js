/**
 * The playground: any text of a model, read by the server, and shown as it would have arrived.
 *
 * One text, one dialect, one position. A new text is read anew; a new position only shows other
 * parts of what is known.
 */

import "./language.js";
import "../src/call-blocks.js";
import { h } from "../src/dom.js";
import { ApiError } from "./api.js";
import { Characters } from "./playground-characters.js";
import { Converted } from "./playground-converted.js";
import { Given } from "./playground-given.js";
import { Marks } from "./playground-marks.js";
import { partsAt } from "./playground-parts.js";
import { countAt, NOTHING, readBy } from "./playground-reading.js";
import { eventRow } from "./playground-says.js";
import { Scrub } from "./playground-scrub.js";
import { problemWords, whole, why } from "./playground-words.js";
import { RowWindow } from "./row-window.js";
import { mountShell } from "./shell.js";
import { tabs } from "./tabs.js";

/** @typedef {import("./playground-reading.js").Reading} Reading */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {string} id
 * @param {Tag} _tag
 */
const part = (id, _tag) => /** @type {HTMLElementTagNameMap[Tag]} */ (document.getElementById(id));

class Playground {
  constructor() {
    this.chars = new Characters("");
    /** @type {Reading} */
    this.reading = NOTHING;
    this._panel = "p-ev";
    this._known = -1;
    /** @type {AbortController | null} */
    this._asking = null;
    this._blocks = /** @type {import("../src/call-blocks.js").CallBlocks} */ (document.getElementById("blocks"));
    this._marks = new Marks(part("marked", "div"), part("src", "pre"));
    this._rows = new RowWindow(part("p-ev", "div"), part("events", "table"), (at) => this._row(at));
    this._converted = new Converted(part("p-co", "div"));
    this._scrub = new Scrub(/** @type {HTMLElement} */ (document.querySelector(".scrub")), (at) => this._moved(at));
    this._given = new Given(() => this.read());
    tabs(/** @type {HTMLElement} */ (document.querySelector("[role=tablist]")), (panel) => this._show(panel));
  }

  async start() {
    await this._offer();
    await this._given.start();
  }

  async _offer() {
    try {
      const { dialects } = await readBy("/api/dialects");
      const names = dialects.map((/** @type {{name: string}} */ one) => one.name);
      this._given.offer(["auto", ...names]);
      this._converted.offer(names);
    } catch (error) {
      this._failed(error);
    }
  }

  /** Have the text read; what is shown stays until the answer is there. */
  async read() {
    const source = this._given.source;
    const { text } = source;
    this._asking?.abort();
    const asking = (this._asking = new AbortController());
    try {
      const reading = await readBy("/api/parse", source, asking.signal);
      if (!asking.signal.aborted) this._draw(new Characters(text), reading);
    } catch (error) {
      if (!asking.signal.aborted) this._failed(error);
    }
  }

  /** @param {unknown} error */
  _failed(error) {
    if (!(error instanceof ApiError)) throw error;
    part("why", "p").replaceChildren(h("span", { class: "bad" }, error.message));
  }

  /**
   * @param {Characters} chars
   * @param {Reading} reading
   */
  _draw(chars, reading) {
    this.chars = chars;
    this.reading = reading;
    this._known = -1;
    this._scrub.show(reading);
    const { dialect, model = "" } = this._given.source;
    part("why", "p").replaceChildren(...why(reading, dialect, model, (change) => this._given.change(change)));
    part("whole", "span").textContent = whole(reading);
    this._marks.show(chars, reading, this._scrub.position);
    this._rows.show(reading.events.length);
    this._update();
  }

  /** @param {number} position */
  _moved(position) {
    this._given.editor.close();
    this._marks.move(position);
    this._update();
  }

  /** Show what is known now. */
  _update() {
    const { events, problems } = this.reading;
    const position = this._scrub.position;
    const known = countAt(events, position);
    if (known !== this._known) {
      this._known = known;
      part("known", "span").textContent = String(known);
      for (const [at, row] of this._rows.rows) row.toggleAttribute("data-later", at >= known);
      if (this._scrub.isPlaying && known) this._rows.reveal(known - 1);
    }
    part("problems", "span").textContent = problemWords(countAt(problems, position), problems.length);
    this._show(this._panel);
  }

  /** @param {string} panel */
  _show(panel) {
    this._panel = panel;
    if (panel === "p-bl") {
      this._blocks.toggleAttribute("live", this._scrub.position < this.chars.length);
      const { parts, left } = partsAt(this.reading.events, this._scrub.position);
      this._blocks.parts = parts;
      part("earlier", "p").textContent = left ? `${left.toLocaleString("en")} parts before these are not shown.` : "";
    }
    if (panel === "p-co") this._converted.show(this._given.source);
    // Rows that were hidden had no place to be in.
    if (panel === "p-ev" && !this._rows.rows.size) this._rows.renew();
  }

  /** @param {number} at */
  _row(at) {
    const event = /** @type {import("./playground-reading.js").ReadEvent} */ (this.reading.events[at]);
    return eventRow(event, at, event.at > this._scrub.position);
  }
}

if (document.documentElement.dataset.reader !== "browser") mountShell({ page: "playground" });
await new Playground().start();
