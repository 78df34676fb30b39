/**
 * The list of chats in the sidebar, asked for every 2.5 seconds while the page is seen.
 *
 *     const list = new ChatList(nav, {current: "trip", heard: (chats, error) => …});
 *
 * A chat that waits, runs or was stopped says so; the others say when they were written last.
 */

import { h, keyed, set, setText } from "../src/dom.js";
import { ApiError, getJson } from "./api.js";
import { dayOf, shortTime } from "./when.js";

const EVERY = 2500;
const SHOWN = 60;

/** @typedef {{id: string, is_running: boolean, last: number, updated: string, title?: string, status?: string, waiting?: number}} ChatSummary */
/** @typedef {{title: string, chats: ChatSummary[]}} Day */

/** Asks and shows. */
export class ChatList {
  /**
   * @param {HTMLElement} nav
   * @param {object} [how]
   * @param {string} [how.current] the chat that is open
   * @param {(chats: ChatSummary[]) => void} [how.heard]
   * @param {(error: ApiError | null) => void} [how.reached] after each try
   */
  constructor(nav, { current = "", heard, reached } = {}) {
    this.current = current;
    /** @type {ChatSummary[]} */
    this.chats = [];
    this._nav = nav;
    this._heard = heard;
    this._reached = reached;
    this._days = new Map();
    this._shown = SHOWN;
    this._more = h("button", { type: "button", class: "row more", onclick: () => this._showMore() });
    this._box = h("div", {});
    nav.append(this._box, this._more);
    this._more.hidden = true;
    this._timer = setInterval(() => this._look(), EVERY);
    document.addEventListener("visibilitychange", () => this._look());
    this.refresh();
  }

  _look() {
    if (document.visibilityState === "visible") this.refresh();
  }

  /** Ask now. */
  async refresh() {
    try {
      const { chats } = await getJson("/api/chats");
      this.chats = chats;
      this.draw();
      this._reached?.(null);
      this._heard?.(chats);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this._reached?.(error);
    }
  }

  /** Show the list as it is known. */
  draw() {
    const shown = this.chats.slice(0, this._shown);
    keyed(this._box, this._days, days(shown), (day) => day.title, () => this._day());
    const left = this.chats.length - shown.length;
    this._more.hidden = left <= 0;
    setText(this._more, `Show ${left} more`);
  }

  _showMore() {
    this._shown += SHOWN;
    this.draw();
  }

  /** @returns {import("../src/dom.js").View<Day>} */
  _day() {
    const head = h("h2", {});
    const list = h("ul", {});
    const rows = new Map();
    return {
      node: h("section", {}, head, list),
      update: ({ title, chats }) => {
        setText(head, title);
        keyed(list, rows, chats, (chat) => chat.id, (chat) => this._row(chat));
      },
    };
  }

  /**
   * @param {ChatSummary} first
   * @returns {import("../src/dom.js").View<ChatSummary>}
   */
  _row(first) {
    const title = h("span", { dir: "auto" });
    const mark = h("b", {});
    const link = h("a", { class: "row", href: `/?chat=${encodeURIComponent(first.id)}` }, title, mark);
    return {
      node: h("li", {}, link),
      update: (chat) => {
        setText(title, chat.title || chat.id);
        set(link, "aria-current", chat.id === this.current && "page");
        showMark(mark, chat);
      },
    };
  }
}

/**
 * @param {HTMLElement} mark
 * @param {ChatSummary} chat
 */
function showMark(mark, chat) {
  const [kind, words] = markOf(chat);
  set(mark, "class", kind ? "tag" : "time");
  set(mark, "data-kind", kind);
  setText(mark, words);
}

/**
 * @param {ChatSummary} chat
 * @returns {[kind: string | null, words: string]}
 */
function markOf(chat) {
  if (chat.waiting) return ["wait", `${chat.waiting} to approve`];
  if (chat.is_running) return ["run", "running"];
  if (chat.status === "interrupted") return ["fail", "stopped"];
  return [null, shortTime(new Date(chat.updated))];
}

/**
 * @param {ChatSummary[]} chats
 * @returns {Day[]}
 */
function days(chats) {
  /** @type {Map<string, ChatSummary[]>} */
  const found = new Map();
  for (const chat of chats) {
    const day = dayOf(new Date(chat.updated));
    found.set(day, [...(found.get(day) ?? []), chat]);
  }
  return [...found].map(([title, of]) => ({ title, chats: of }));
}
