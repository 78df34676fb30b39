/**
 * The text to read and its dialect, wherever they come from: the address, a sample, the editor, or
 * what was there before.
 *
 *     const given = new Given(() => read(given.text, given.dialect));      await given.start();
 */

import { h } from "../src/dom.js";
import { copyBy } from "./copying.js";
import { keep, kept } from "./keep.js";
import { Editor } from "./playground-editor.js";
import { fragmentOf, readFragment } from "./playground-link.js";
import { SAMPLES } from "./playground-samples.js";

const WAIT = 200;

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
    this._dialect = part("dialect", "select");
    this._sample = part("sample", "select");
    this.editor = new Editor({
      area: part("editor", "textarea"),
      view: part("marked", "div"),
      button: part("edit", "button"),
      changed: (text) => this._typed(text),
    });
    this._listen();
  }

  get dialect() {
    return this._dialect.value;
  }

  _listen() {
    this._sample.append(...SAMPLES.map(({ name }, at) => h("option", { value: String(at) }, name)));
    this._sample.addEventListener("change", () => this._take(SAMPLES[Number(this._sample.value || -1)]));
    this._dialect.addEventListener("change", () => this._tell());
    part("clear", "button").addEventListener("click", () => this._clear());
    const link = part("link", "button");
    link.addEventListener("click", async () => copyBy(link, await this._link()));
    addEventListener("hashchange", () => this._open());
  }

  /** @param {string[]} dialects */
  offer(dialects) {
    this._dialect.replaceChildren(...dialects.map((name) => h("option", { value: name }, name)));
  }

  /** Begin with what the address says, or with what was there before. */
  async start() {
    if (await this._open()) return;
    const { text, dialect } = kept("playground", { text: SAMPLES[0]?.text ?? "", dialect: "auto" });
    this.set(text, dialect);
  }

  /** Take the text of the address, where there is one. */
  async _open() {
    const given = await readFragment(location.hash);
    if (given) this.set(given.text, given.dialect);
    return given !== null;
  }

  /** @param {import("./playground-samples.js").Sample | undefined} sample */
  _take(sample) {
    if (sample) this.set(sample.text, sample.dialect ?? "auto");
  }

  /**
   * Another text, from elsewhere than the editor.
   * @param {string} text
   * @param {string} dialect
   */
  set(text, dialect) {
    this._dialect.value = dialect;
    if (!this._dialect.value) this._dialect.value = "auto";
    this.text = text;
    this._sample.value = String(SAMPLES.findIndex((one) => one.text === text));
    if (!this._sample.value) this._sample.value = "";
    this.editor.set(text);
    this._tell();
  }

  /** @param {string} text */
  _typed(text) {
    this.text = text;
    this._sample.value = "";
    clearTimeout(this._timer);
    this._timer = setTimeout(() => this._tell(), WAIT);
  }

  _tell() {
    clearTimeout(this._timer);
    keep("playground", { text: this.text, dialect: this.dialect });
    this._changed();
  }

  _clear() {
    this._sample.value = "";
    history.replaceState(null, "", location.pathname + location.search);
    this.set("", this.dialect);
    this.editor.open();
  }

  async _link() {
    const fragment = await fragmentOf(this.text, this.dialect);
    history.replaceState(null, "", fragment);
    return location.href;
  }
}
