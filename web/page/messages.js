/**
 * The messages of a chat, one `<call-blocks>` each, drawn once per frame.
 *
 *     const list = new Messages(talk, {chat, keyOf});
 *     list.show(messages, live)      the list changed
 *     list.changed()                 more of the message that is under way
 *
 * Of a long chat the last messages are there, the others come by a button, and what is seen does
 * not move; the first ones are one press away, with only those beside them drawn. What the person opened stays open over reloads: it is kept for the tab, by message.
 */

import "../src/call-blocks.js";
import { h, keyed, set, setText } from "../src/dom.js";
import { t } from "../src/words.js";
import { keep, kept } from "./keep.js";
import { messageFoot } from "./message-foot.js";

const AT_ONCE = 60;

/** @typedef {import("../src/types.js").Message} Message */
/** @typedef {import("../src/dom.js").View<Message>} MessageView */
/** @typedef {import("../src/call-blocks.js").CallBlocks} CallBlocks */

/** Draws the messages. */
export class Messages {
  /**
   * @param {HTMLElement} talk
   * @param {object} how
   * @param {(message: Message) => string} how.keyOf
   * @param {() => void} how.drawn
   * @param {(element: CallBlocks) => void} how.setup
   * @param {import("./message-foot.js").Does} how.does
   */
  constructor(talk, { keyOf, drawn, setup, does }) {
    this._talk = talk;
    this._does = does;
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
    // The messages that are drawn: so many up to a place, which is the end unless the person went
    // to the first ones.
    this._shown = AT_ONCE;
    /** @type {number | null} */
    this._until = null;
    this._frame = 0;
    this._isAll = true;
    this._box = h("div", { class: "msgs" });
    const quiet = (/** @type {string} */ words, /** @type {() => void} */ press) =>
      h("button", { type: "button", class: "btn small", "data-kind": "quiet", onclick: press }, words);
    this._count = h("span", {});
    this._earlier = h("div", { class: "earlier" }, this._count, quiet(t("Show {n}", { n: AT_ONCE }), () => this._more()), quiet(t("Go to the first"), () => this._goFirst()));
    this._later = h("div", { class: "earlier later" }, h("span", {}), quiet(t("Show {n}", { n: AT_ONCE }), () => this._moreLater()), quiet(t("Go to the last"), () => this.goLast()));
    this._earlier.hidden = this._later.hidden = true;
    talk.append(this._earlier, this._box, this._later);
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
    const until = Math.min(this._until ?? Infinity, this._messages.length);
    const left = Math.max(0, until - this._shown);
    const later = this._messages.length - until;
    this._earlier.hidden = left === 0;
    this._later.hidden = later === 0;
    setText(this._count, many(left, t("1 earlier message"), t("{n} earlier messages", { n: number(left) })));
    setText(/** @type {Element} */ (this._later.firstElementChild), many(later, t("1 later message"), t("{n} later messages", { n: number(later) })));
    keyed(this._box, this._views, this._messages.slice(left, until), this._keyOf, (message) => this._view(message));
  }

  /** The first messages alone: the way there does not draw thousands. */
  _goFirst() {
    this._until = AT_ONCE;
    this._shown = AT_ONCE;
    this._drawAll();
    this._box.firstElementChild?.scrollIntoView({ block: "start" });
    /** @type {HTMLElement | null} */ (this._box.firstElementChild)?.focus({ preventScroll: true });
  }

  /**
   * Bring the answer of a turn into view; whether it is there.
   * @param {string} turn
   */
  reveal(turn) {
    const at = this._messages.findIndex(({ id }) => id === turn || id === `${turn}.user`);
    if (at < 0) return false;
    if (at < this._messages.length - this._shown) this._until = Math.min(at + AT_ONCE / 2, this._messages.length);
    this._drawAll();
    this._isAll = false;
    const view = this._views.get(this._keyOf(/** @type {Message} */ (this._messages[at])));
    view?.node.scrollIntoView({ block: "start" });
    view?.node.focus({ preventScroll: true });
    return true;
  }

  _moreLater() {
    this._shown += AT_ONCE;
    this._until = (this._until ?? 0) + AT_ONCE;
    if (this._until >= this._messages.length) this._until = null;
    this._drawAll();
  }

  /** Back to the end. */
  goLast() {
    if (this._until === null) return;
    this._until = null;
    this._shown = AT_ONCE;
    this._drawAll();
    document.documentElement.scrollTop = document.documentElement.scrollHeight;
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
    const node = h("article", { class: "msg", tabindex: "-1", "data-from": isUser ? "user" : "model", "aria-label": t(isUser ? "You" : "Model") }, blocks);
    const foot = messageFoot(node, this._does);
    node.append(foot.node);
    let id = first.id;
    blocks.addEventListener("callblocks-toggle", () => {
      const open = [...blocks.openKeys];
      keep(`open.${this._chat}.${id}`, open.length ? open : undefined);
    });
    return {
      node,
      drop: () => foot.drop(),
      update: (message) => {
        id = message.id;
        const isLive = message === this._messages.at(-1) && this._live !== null && message.role !== "user";
        set(blocks, "live", isLive);
        set(node, "aria-busy", isLive && "true");
        blocks.message = message;
        blocks.flush();
        foot.update(message, isLive);
      },
    };
  }
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} more
 */
const many = (count, one, more) => (count === 1 ? one : more);

/** @param {number} value */
const number = (value) => value.toLocaleString("en");
