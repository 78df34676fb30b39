/**
 * The list of chats in the sidebar: the latest first, more by a button, what changes by a stream.
 *
 *     const list = new ChatList(nav, {current: "trip", heard: (chats, error) => …});
 *
 * A chat that waits, runs or was stopped says so; the others say when they were written last. While
 * nothing happens, nothing is sent but a comment now and then. A page that is not seen follows
 * nothing: a browser opens few connections to one server.
 */

import { readEvents } from "../src/decode.js";
import { h, keyed, set, setText } from "../src/dom.js";
import { t } from "../src/words.js";
import { ApiError, ask, getJson } from "./api.js";
import { ChatMenu } from "./chat-menu.js";
import { ChatSearch } from "./chat-search.js";
import { dayOf, shortTime } from "./when.js";

const PAGE = 40;
const AGAIN = 2500;

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
   * @param {() => void} [how.gone] the chat that is open was deleted
   */
  constructor(nav, { current = "", heard, reached, gone } = {}) {
    this.current = current;
    /** @type {ChatSummary[]} */
    this.chats = [];
    this._total = 0;
    this._shown = PAGE;
    this._nav = nav;
    this._heard = heard;
    this._reached = reached;
    this._gone = gone;
    this._days = new Map();
    this._menu = new ChatMenu({ changed: () => this.refresh(), isCurrent: (id) => id === this.current });
    this._count = h("span", {});
    this._more = h("button", { type: "button", class: "btn small", "data-kind": "quiet", onclick: () => this._showMore() });
    this._foot = h("div", { class: "side-more" }, this._count, this._more);
    this._box = h("div", {});
    this._search = new ChatSearch({ shows: (isFound) => (this._box.hidden = this._foot.hidden = isFound), current: () => this.current });
    nav.append(this._search.node, this._search.found, this._box, this._foot);
    this._foot.hidden = true;
    /** @type {AbortController | null} */
    this._following = null;
    document.addEventListener("visibilitychange", () => this._look());
    this._look();
  }

  _look() {
    if (document.visibilityState !== "visible") {
      this._following?.abort();
      this._following = null;
    } else if (!this._following) {
      this._following = new AbortController();
      void this._follow(this._following.signal);
    }
  }

  /**
   * Read the list, and then what changes; again where the server was away.
   * @param {AbortSignal} signal
   */
  async _follow(signal) {
    while (!signal.aborted) {
      try {
        const response = await ask("/api/chats/stream", { signal });
        await this.refresh();
        for await (const { chunk } of readEvents(response)) if (chunk) this._take(/** @type {any} */ (chunk));
        if (!signal.aborted) throw new ApiError("unreachable", "The server cannot be reached.");
      } catch (error) {
        if (signal.aborted) return;
        this._reached?.(error instanceof ApiError ? error : new ApiError("unreachable", "The server cannot be reached."));
        await new Promise((done) => setTimeout(done, AGAIN));
      }
    }
  }

  /** @param {{type: "chat", chat: ChatSummary} | {type: "gone", id: string}} change */
  _take(change) {
    if (change.type !== "chat" && change.type !== "gone") return;
    const id = change.type === "gone" ? change.id : change.chat.id;
    const others = this.chats.filter((one) => one.id !== id);
    const wasKnown = others.length < this.chats.length;
    if (change.type === "gone") {
      this.chats = others;
      this._total -= Number(wasKnown);
      if (id === this.current) this._gone?.();
    } else {
      this.chats = [change.chat, ...others].sort(byTime);
      this._total += Number(!wasKnown);
    }
    this.draw();
    this._reached?.(null);
    if (change.type === "chat") this._heard?.([change.chat]);
  }

  /** Ask now. */
  async refresh() {
    try {
      const { chats, total } = await getJson(`/api/chats?limit=${this._shown}`);
      this.chats = chats;
      this._total = total;
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
    const left = Math.min(PAGE, this._total - shown.length);
    this._more.hidden = left <= 0;
    setText(this._more, t("Show {n} more", { n: left }));
    setText(this._count, this._total === 1 ? t("1 chat") : t("{n} chats", { n: this._total.toLocaleString("en") }));
    this._foot.hidden = this._total === 0 || this._search.isFound;
  }

  async _showMore() {
    this._shown += PAGE;
    await this.refresh();
  }

  /** @returns {import("../src/dom.js").View<Day>} */
  _day() {
    const head = h("h2", {});
    const list = h("ul", {});
    const rows = new Map();
    return {
      node: h("section", {}, head, list),
      update: ({ title, chats }) => {
        setText(head, t(title));
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
    const item = h("li", { class: "chat-row" }, link);
    const menu = this._menu.button(item, link);
    item.append(menu.node);
    return {
      node: item,
      update: (chat) => {
        setText(title, chat.title || chat.id);
        menu.update(chat);
        set(link, "aria-current", chat.id === this.current && "page");
        showMark(mark, chat);
      },
    };
  }
}

/**
 * The latest first.
 * @param {ChatSummary} one
 * @param {ChatSummary} other
 */
const byTime = (one, other) => (one.updated < other.updated ? 1 : one.updated > other.updated ? -1 : 0);

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
  if (chat.waiting) return ["wait", t("{n} to approve", { n: chat.waiting })];
  if (chat.is_running) return ["run", t("running")];
  if (chat.status === "interrupted") return ["fail", t("stopped")];
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
