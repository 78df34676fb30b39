/**
 * The messages of a chat, one `<call-blocks>` each, drawn once per frame.
 *
 *     const list = new Messages(talk, {chat, keyOf});
 *     list.show(messages, live)      the list changed
 *     list.changed()                 more of the message that is under way
 *
 * Of a long chat the last messages are there, the others come by a button, and what is seen does
 * not move. What the person opened stays open over reloads: it is kept for the tab, by message.
 */

import "../src/call-blocks.js";
import { h, keyed, set, setText } from "../src/dom.js";
import { keep, kept } from "./keep.js";

const AT_ONCE = 60;

/** @typedef {import("../src/types.js").Message} Message */
/** @typedef {import("../src/dom.js").View<Message>} MessageView */
/** @typedef {import("../src/call-blocks.js").CallBlocks} CallBlocks */

/** Draws the messages. */
export class Messages {
  /**
   * @param {HTMLElement} talk
   * @param {{keyOf: (message: Message) => string, drawn: () => void, setup: (element: CallBlocks) => void}} how
   */
  constructor(talk, { keyOf, drawn, setup }) {
    this._talk = talk;
    this._keyOf = keyOf;
    this._drawn = drawn;
    this._setup = setup;
    this._chat = "";
    /** @type {Message[]} */
    this._messages = [];
    /** @type {Message | null} */
    this._live = null;
    /** @type {Map<string, MessageView>} */
    this._views = new Map();
    /** @type {Set<string>} */
    this._revoked = new Set();
    this._shown = AT_ONCE;
    this._frame = 0;
    this._isAll = true;
    this._box = h("div", { class: "msgs" });
    this._earlier = h("button", { type: "button", class: "btn earlier", onclick: () => this._more() });
    this._earlier.hidden = true;
    talk.append(this._earlier, this._box);
  }

  /**
   * @param {string} chat
   */
  setChat(chat) {
    this._chat = chat;
  }

  /**
   * @param {Message[]} messages
   * @param {Message | null} live
   */
  show(messages, live) {
    this._messages = messages;
    this._live = live;
    this._isAll = true;
    this._ask();
  }

  /**
   * Tell all messages which grants were taken back, also those that are drawn later.
   * @param {Iterable<string>} ids
   */
  setRevoked(ids) {
    for (const id of ids) this._revoked.add(id);
    for (const blocks of this._box.querySelectorAll("call-blocks")) {
      /** @type {CallBlocks} */ (blocks).revoked = this._revoked;
    }
  }

  /** The message under way has more. */
  changed() {
    this._ask();
  }

  _ask() {
    // A page that is not seen gets no frames; it is drawn when it is seen again.
    this._frame ||= requestAnimationFrame(() => {
      this._frame = 0;
      this._draw();
    });
  }

  _draw() {
    if (this._isAll) this._drawAll();
    else this._drawLive();
    this._isAll = false;
    this._drawn();
  }

  _drawAll() {
    const left = Math.max(0, this._messages.length - this._shown);
    this._earlier.hidden = left === 0;
    setText(this._earlier, `Show earlier messages (${left})`);
    keyed(this._box, this._views, this._messages.slice(left), this._keyOf, (message) => this._view(message));
  }

  _drawLive() {
    const last = this._messages.at(-1);
    if (last) this._views.get(this._keyOf(last))?.update(last);
  }

  /** More of the past; what is seen stays where it is. */
  _more() {
    const first = this._box.firstElementChild;
    const before = first?.getBoundingClientRect().top ?? 0;
    this._shown += AT_ONCE;
    this._drawAll();
    const moved = (first?.getBoundingClientRect().top ?? 0) - before;
    document.documentElement.scrollTop += moved;
    if (first instanceof HTMLElement) first.focus({ preventScroll: true });
  }

  /**
   * @param {Message} first
   * @returns {MessageView}
   */
  _view(first) {
    const blocks = /** @type {CallBlocks} */ (document.createElement("call-blocks"));
    const name = `open.${this._chat}.${first.id}`;
    blocks.openKeys = new Set(kept(name, /** @type {string[]} */ ([])));
    blocks.revoked = this._revoked;
    this._setup(blocks);
    const isUser = first.role === "user";
    const node = h("article", { class: "msg", tabindex: "-1", "data-from": isUser ? "user" : "model", "aria-label": isUser ? "You" : "Model" }, blocks);
    let id = first.id;
    blocks.addEventListener("callblocks-toggle", () => {
      const open = [...blocks.openKeys];
      keep(`open.${this._chat}.${id}`, open.length ? open : undefined);
    });
    return {
      node,
      update: (message) => {
        id = message.id;
        const isLive = message === this._messages.at(-1) && this._live !== null && message.role !== "user";
        set(blocks, "live", isLive);
        set(node, "aria-busy", isLive && "true");
        blocks.message = message;
        blocks.flush();
      },
    };
  }
}
