/**
 * The head of a chat: its title, `turn 2 · 41 blocks`, and the ways to its timeline and a copy.
 */

import { set, setText } from "../src/dom.js";
import { visibleLine } from "../src/safe.js";
import { t } from "../src/words.js";
import { fileName, save } from "./files.js";
import { kept } from "./keep.js";

const LONGEST = 80;

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * Tell a person who looks elsewhere that a call waits, where they switched that on.
 * @param {number} waiting
 * @param {string} title
 */
function notify(waiting, title) {
  if (document.visibilityState === "visible" || !kept("notify", false, "browser")) return;
  if (globalThis.Notification?.permission !== "granted") return;
  const words = waiting === 1 ? t("A call waits for you") : t("{n} calls wait for you", { n: waiting });
  const note = new Notification(words, { body: title, tag: "callblocks.waiting" });
  note.addEventListener("click", () => {
    globalThis.focus();
    note.close();
  });
}

const ICON = "/web/icon.svg";
// The same with a dot, while somebody is asked.
const ICON_ASKS =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 18 18' fill='%230a8894'%3E%3Crect x='1' y='2' width='10' height='4' rx='1.5'/%3E%3Crect x='4' y='12' width='8' height='4' rx='1.5'/%3E%3Ccircle cx='13' cy='6' r='5' fill='%23b26a00'/%3E%3C/svg%3E";

/** What stands over a conversation. */
export class ChatHeader {
  /** @param {string} chat */
  constructor(chat) {
    this._chat = chat;
    this._title = "";
    this._waiting = 0;
    this._isLive = false;
    /** How a turn ended that nobody has looked at since. */
    this._ended = "";
    document.addEventListener("visibilitychange", () => this._look());
    set(byId("timeline"), "href", `/timeline?name=${encodeURIComponent(chat)}`);
  }

  /** @param {string} title how the chat begins */
  setTitle(title) {
    this._title = visibleLine(title).trim().slice(0, LONGEST);
    setText(byId("title"), this._title || "New chat");
    this._showTab();
  }

  /** @param {number} waiting how many calls wait for an answer */
  setWaiting(waiting) {
    if (waiting === this._waiting) return;
    document.body.toggleAttribute("data-asks", waiting > 0);
    if (waiting > this._waiting) notify(waiting, this._title);
    this._waiting = waiting;
    this._showTab();
  }

  /**
   * @param {boolean} isLive whether a turn runs
   * @param {string} status how the last one ended
   */
  setLive(isLive, status) {
    if (isLive === this._isLive) return;
    this._isLive = isLive;
    const isSeen = document.visibilityState === "visible";
    this._ended = isLive || isSeen ? "" : t(["failed", "limited", "interrupted"].includes(status) ? "Failed" : "Done");
    this._showTab();
  }

  _look() {
    if (document.visibilityState !== "visible" || !this._ended) return;
    this._ended = "";
    this._showTab();
  }

  /** The state stands first: tabs cut the end. */
  _showTab() {
    const name = this._title || t("New chat");
    const waits = this._waiting ? t("{n} to approve", { n: this._waiting }) : "";
    const state = waits || (this._isLive ? t("Running") : this._ended);
    document.title = state ? `${state} · ${name}` : `${name} · callblocks`;
    const icon = document.querySelector("link[rel=icon]");
    if (icon) set(icon, "href", waits ? ICON_ASKS : ICON);
  }

  /**
   * @param {import("./chat-stream.js").ChatStream} stream
   */
  show({ messages, blocks, isKnown }) {
    const turns = messages.filter((message) => message.role === "user").length;
    setText(byId("sub"), turns ? `turn ${turns} · ${blocks} block${blocks === 1 ? "" : "s"}` : "");
    byId("actions").hidden = !isKnown;
  }

  /** Save the chat as one file that needs no server. */
  async share() {
    const page = `/api/timelines/${encodeURIComponent(this._chat)}/page`;
    await save(page, fileName(this._title || this._chat, "html"));
  }
}
