/**
 * The tab that shows the text in another dialect, and what that cannot say.
 */

import { h } from "../src/dom.js";
import { visible } from "../src/safe.js";
import { ApiError } from "./api.js";
import { copyBy } from "./copying.js";
import { keep, kept } from "./keep.js";
import { readBy } from "./playground-reading.js";

/** @typedef {{text: string, left_out: string[], kept_as_text: string[], needs: string[]}} Answer */

const SHOWN = 300_000;

export class Converted {
  /** @param {HTMLElement} panel */
  constructor(panel) {
    this._into = h("select", { onchange: () => this._choose() });
    this._copy = h("button", { type: "button", class: "btn end", onclick: () => copyBy(this._copy, this._whole) }, "Copy");
    this._out = h("pre", { class: "out", tabindex: "0", role: "region", "aria-label": "Converted text" });
    this._notes = h("div", { class: "notes", role: "status" });
    this._whole = "";
    this._asked = "";
    /** @type {AbortController | null} */
    this._running = null;
    /** @type {import("./playground-given.js").Source} */
    this._source = { text: "", dialect: "auto" };
    const row = h("div", { class: "composer-row" }, h("label", { class: "pick" }, "Into", this._into), this._copy);
    panel.append(h("div", { class: "stack" }, row, this._notes, this._out));
  }

  /** @param {string[]} dialects */
  offer(dialects) {
    this._into.replaceChildren(...dialects.map((name) => h("option", { value: name }, name)));
    const chosen = kept("playground.into", "tool-fence", "browser");
    this._into.value = dialects.includes(chosen) ? chosen : (dialects[0] ?? "");
  }

  _choose() {
    keep("playground.into", this._into.value, "browser");
    this.show(this._source);
  }

  /** @param {import("./playground-given.js").Source} source */
  async show(source) {
    this._source = source;
    const into = this._into.value;
    const { in_code_fences: _, ...body } = { ...source, into };
    const asked = JSON.stringify(body);
    if (!into || asked === this._asked) return;
    this._asked = asked;
    this._running?.abort();
    this._running = new AbortController();
    const { signal } = this._running;
    try {
      this._draw(await readBy("/api/convert", body, signal));
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      this._asked = "";
      this._notes.replaceChildren(h("p", { class: "bad" }, error.message));
    }
  }

  /** @param {Answer} answer */
  _draw({ text, left_out, kept_as_text, needs }) {
    this._whole = text;
    this._copy.toggleAttribute("disabled", !text);
    this._out.hidden = !text;
    this._out.textContent = visible(text.slice(0, SHOWN));
    this._notes.replaceChildren(...notes({ text, left_out, kept_as_text, needs }));
  }
}

/**
 * @param {Answer} answer
 * @returns {Node[]}
 */
function notes({ text, left_out, kept_as_text, needs }) {
  const nodes = [];
  if (left_out.length) {
    const words = text ? "Left out, because this dialect cannot say it:" : "Nothing is written, because this dialect cannot say it:";
    nodes.push(h("p", { class: "bad" }, words), list(left_out));
  }
  if (kept_as_text.length) nodes.push(h("p", {}, "Kept as text, as written:"), list(kept_as_text));
  if (needs.length) nodes.push(h("p", {}, `A reader of this must know the tools ${visible(needs.join(", "))}.`));
  if (text.length > SHOWN) nodes.push(h("p", {}, `Only the first ${SHOWN.toLocaleString("en")} characters are shown; Copy takes all.`));
  if (!nodes.length && text) nodes.push(h("p", {}, "Converted from the whole text. Nothing is left out."));
  return nodes;
}

/** @param {string[]} lines */
function list(lines) {
  const few = lines.slice(0, 20).map((line) => h("li", {}, visible(line)));
  if (lines.length > 20) few.push(h("li", {}, `and ${lines.length - 20} more`));
  return h("ul", {}, ...few);
}
