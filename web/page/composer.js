/**
 * Where the person writes: text that grows, files, Send, and Stop exactly where Send was.
 *
 *     Enter sends, Shift+Enter is a new line; while an input method composes, Enter is its own
 *
 * What is written but not sent is kept for the tab, chat by chat. What could not be sent comes back.
 */

import { setText } from "../src/dom.js";
import { Attachments } from "./attachments.js";
import { icon } from "./icons.js";
import { t } from "../src/words.js";
import { keep, kept } from "./keep.js";

const DOUBLE_CLICK = 500;

/** @typedef {import("./attachments.js").Attached} Attached */
/** @typedef {{send: (text: string, files: Attached[]) => void, queue: (text: string, files: Attached[]) => void, stop: () => void}} Does */

/** The form at the foot of a chat. */
export class Composer {
  /**
   * @param {HTMLFormElement} form
   * @param {string} chat whose draft it is; "" for a chat that does not exist yet
   * @param {Does} does
   */
  constructor(form, chat, does) {
    this.box = /** @type {HTMLTextAreaElement} */ (form.querySelector("textarea"));
    this._form = form;
    this._chat = chat;
    this._does = does;
    this._button = /** @type {HTMLButtonElement} */ (form.querySelector(".go"));
    this._queue = /** @type {HTMLButtonElement} */ (form.querySelector(".later"));
    this._note = /** @type {HTMLElement} */ (form.querySelector(".composer-note"));
    this._isLive = false;
    this._changedAt = 0;
    const list = /** @type {HTMLElement} */ (form.querySelector(".files"));
    this.files = new Attachments(list, { complain: (words) => this.complain(words), changed: () => this._look() });
    this.box.value = kept(`draft.${chat}`, "");
    this._listen();
    this._draw();
  }

  /** @param {boolean} isLive whether a turn runs, so that the button stops it */
  setLive(isLive) {
    if (isLive === this._isLive) return;
    this._isLive = isLive;
    this._changedAt = Date.now();
    this._draw();
  }

  /**
   * The chat has a name now: its draft is kept under it.
   * @param {string} chat
   */
  setChat(chat) {
    keep(`draft.${this._chat}`, undefined);
    this._chat = chat;
    this._keep();
  }

  /**
   * Take back what could not be sent, before what was written since.
   * @param {string} text
   * @param {Attached[]} files
   */
  restore(text, files) {
    this.write([text, this.box.value].filter(Boolean).join("\n\n"));
    this.files.restore(files);
  }

  /** @param {string} text */
  write(text) {
    this.box.value = text;
    this._keep();
    this._look();
  }

  /** @param {string} words what is wrong; "" takes it away */
  complain(words) {
    this._note.hidden = !words;
    setText(this._note, words);
  }

  _listen() {
    this._form.addEventListener("submit", (event) => {
      event.preventDefault();
      this._send();
    });
    this._button.addEventListener("click", () => this._press());
    this._queue.addEventListener("click", () => this._send());
    this.box.addEventListener("keydown", (event) => {
      // 229 is what some browsers say of the Enter that ends a composition.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      this._send();
    });
    this.box.addEventListener("input", () => {
      this.complain("");
      this._keep();
      this._look();
    });
    const chooser = /** @type {HTMLInputElement} */ (this._form.querySelector("input[type=file]"));
    const attach = /** @type {HTMLButtonElement} */ (this._form.querySelector(".attach"));
    attach.append(icon("clip"));
    attach.addEventListener("click", () => chooser.click());
    chooser.addEventListener("change", async () => {
      await this.files.add(chooser.files ?? []);
      chooser.value = "";
    });
  }

  _press() {
    // The second click of a double click on Send is not meant to stop.
    if (Date.now() - this._changedAt < DOUBLE_CLICK) return;
    if (this._isLive) this._does.stop();
    else this._send();
  }

  _send() {
    const text = this.box.value;
    if (!text.trim() && !this.files.files.length) return this.box.focus();
    this.complain("");
    this.write("");
    if (this._isLive) this._does.queue(text, this.files.taken());
    else this._does.send(text, this.files.taken());
  }

  _keep() {
    keep(`draft.${this._chat}`, this.box.value || undefined);
  }

  _draw() {
    const words = this._isLive ? "Stop" : "Send";
    this._button.replaceChildren(icon(words.toLowerCase()), t(words));
    this._queue.hidden = !this._isLive;
    setText(this._queue, t("Queue"));
    this.box.placeholder = t(this._isLive ? "Message for after this turn" : "Message, or drop a file here");
    if (!this._isLive) this.complain("");
    this._look();
  }

  /** Whether there is something to send is seen on the button; it can be pressed all the same. */
  _look() {
    const isReady = Boolean(this.box?.value.trim() || this.files?.files.length);
    if (this._isLive || !isReady) delete this._button.dataset.kind;
    else this._button.dataset.kind = "primary";
  }
}
