/**
 * The text to read and what it is read by, wherever they come from: the address, a sample, the
 * fields, or what was there before.
 *
 *     const given = new Given(() => read(given.source));      await given.start();
 *
 * Tools are JSON in any shape that the APIs of models use, or names between commas.
 */

import { h } from "../src/dom.js";
import { copyBy } from "./copying.js";
import { keep, kept } from "./keep.js";
import { Editor } from "./playground-editor.js";
import { fragmentOf, readFragment } from "./playground-link.js";
import { SAMPLES } from "./playground-samples.js";

/** @typedef {{text: string, dialect: string, model?: string, tools?: unknown[], in_code_fences?: boolean}} Source */
/** @typedef {{dialect?: string, tools?: string, in_code_fences?: boolean}} Change */

const WAIT = 200;
const LONG_LINK = 8000;
const NAMES = /^[\w.-]{1,64}(\s*,\s*[\w.-]{1,64})*$/;

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {string} id
 * @param {Tag} _tag
 */
const part = (id, _tag) => /** @type {HTMLElementTagNameMap[Tag]} */ (document.getElementById(id));

export class Given {
  /** @param {() => void} changed */
  constructor(changed) {
    this.text = "";
    this._changed = changed;
    this._timer = 0;
    this._inFences = false;
    /** @type {unknown[]} */
    this._tools = [];
    this._dialect = part("dialect", "select");
    this._sample = part("sample", "select");
    this._model = part("model", "input");
    this._declared = part("declared", "textarea");
    this.editor = new Editor({
      area: part("editor", "textarea"),
      view: part("marked", "div"),
      button: part("edit", "button"),
      changed: (text) => this._typed(text),
    });
    this._listen();
  }

  /** What is read, as the server takes it. @returns {Source} */
  get source() {
    /** @type {Source} */
    const source = { text: this.text.toWellFormed(), dialect: this._dialect.value };
    if (this._model.value) source.model = this._model.value;
    if (this._tools.length) source.tools = this._tools;
    if (this._inFences) source.in_code_fences = true;
    return source;
  }

  _listen() {
    this._sample.append(...SAMPLES.map(({ name }, at) => h("option", { value: String(at) }, name)));
    this._sample.addEventListener("change", () => this._take(SAMPLES[Number(this._sample.value || -1)]));
    this._dialect.addEventListener("change", () => this._tell());
    this._model.addEventListener("input", () => this._soon());
    this._declared.addEventListener("input", () => (this._readTools(), this._soon()));
    part("clear", "button").addEventListener("click", () => this._clear());
    part("share", "section").addEventListener("beforetoggle", (event) => {
      if (/** @type {ToggleEvent} */ (event).newState === "open") void this._share();
    });
    part("copy-link", "button").addEventListener("click", ({ currentTarget }) =>
      copyBy(/** @type {HTMLElement} */ (currentTarget), part("shared", "input").value, part("share", "section")),
    );
    part("save", "button").addEventListener("click", () => this._save());
    addEventListener("hashchange", () => this._open());
  }

  /** @param {string[]} dialects */
  offer(dialects) {
    this._dialect.replaceChildren(...dialects.map((name) => h("option", { value: name }, name)));
  }

  /** Begin with what the address says, or with what was there before. */
  async start() {
    if (await this._open()) return;
    this.set({ text: SAMPLES[0]?.text ?? "", ...kept("playground", {}) });
  }

  /** Take the text of the address, where there is one. */
  async _open() {
    const given = await readFragment(location.hash);
    if (given) this.set(given);
    return given !== null;
  }

  /** @param {import("./playground-samples.js").Sample | undefined} sample */
  _take(sample) {
    if (sample) this.set(sample);
  }

  /**
   * Another text, from elsewhere than the editor.
   * @param {{text: string, dialect?: string, model?: string, tools?: string}} given
   */
  set({ text, dialect = "auto", model = "", tools = "" }) {
    this.text = text;
    this._inFences = false;
    this._model.value = model;
    this._declare(tools);
    this._choose(dialect);
    this._sample.value = String(SAMPLES.findIndex((one) => one.text === text));
    if (!this._sample.value) this._sample.value = "";
    this.editor.set(text);
    this._tell();
  }

  /**
   * What a hint proposes.
   * @param {Change} change
   */
  change({ dialect, tools, in_code_fences: inFences }) {
    if (dialect !== undefined) this._choose(dialect);
    if (tools !== undefined) this._declare(tools);
    if (inFences !== undefined) this._inFences = inFences;
    this._tell();
  }

  /** @param {string} dialect */
  _choose(dialect) {
    this._dialect.value = dialect;
    if (!this._dialect.value) this._dialect.value = "auto";
  }

  /** @param {string} tools */
  _declare(tools) {
    this._declared.value = tools;
    this._readTools();
  }

  /** Read the field of the tools; what cannot be read yet counts as none, and says so. */
  _readTools() {
    const words = this._declared.value.trim();
    let note = "No tools. With them, arguments are typed, and calls are read that no marker opens.";
    this._tools = [];
    if (NAMES.test(words)) this._tools = words.split(",").map((name) => ({ name: name.trim(), parameters: {} }));
    else if (words) {
      try {
        const read = JSON.parse(words);
        this._tools = Array.isArray(read) ? read : [read];
      } catch (error) {
        note = `This is no JSON yet: ${/** @type {Error} */ (error).message}`;
      }
    }
    const count = this._tools.length;
    if (count) note = count === 1 ? "1 tool. Arguments are typed by it." : `${count} tools. Arguments are typed by them.`;
    part("tools-note", "p").textContent = note;
    part("tools-count", "span").textContent = count ? String(count) : "";
  }

  /** @param {string} text */
  _typed(text) {
    this.text = text;
    this._sample.value = "";
    this._inFences = false;
    this._soon();
  }

  _soon() {
    clearTimeout(this._timer);
    this._timer = setTimeout(() => this._tell(), WAIT);
  }

  _tell() {
    clearTimeout(this._timer);
    keep("playground", this._shared);
    this._changed();
  }

  get _shared() {
    return { text: this.text, dialect: this._dialect.value, model: this._model.value, tools: this._declared.value };
  }

  _clear() {
    this._sample.value = "";
    history.replaceState(null, "", location.pathname + location.search);
    this.set({ ...this._shared, text: "" });
    this.editor.open();
  }

  async _share() {
    const fragment = await fragmentOf(this._shared);
    history.replaceState(null, "", fragment);
    const link = location.href;
    part("shared", "input").value = link;
    const held = [`${[...this.text].length.toLocaleString("en")} characters of text`, "the dialect"];
    if (this._model.value) held.push("the model");
    if (this._tools.length) held.push(this._tools.length === 1 ? "1 tool" : `${this._tools.length} tools`);
    const isLong = link.length > LONG_LINK;
    part("share-note", "p").textContent =
      `${held.slice(0, -1).join(", ")} and ${held.at(-1)}, in a link of ${link.length.toLocaleString("en")}. It stands behind the #, so no server is sent it.` +
      (isLong ? " Many programs cut links of more than 8,000 characters: send the file instead." : "");
    part("save", "button").hidden = !isLong;
  }

  _save() {
    const address = URL.createObjectURL(new Blob([this.text.toWellFormed()], { type: "text/plain" }));
    h("a", { href: address, download: "model-output.txt" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }
}
