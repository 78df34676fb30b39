/**
 * The field over the list: chats in which something was said. What was found is marked.
 */

import { h, setText } from "../src/dom.js";
import { visibleLine } from "../src/safe.js";
import { t } from "../src/words.js";
import { ApiError, getJson } from "./api.js";

const WAIT = 200;

/** @typedef {{chat: import("./chat-list.js").ChatSummary, turn: string, who: string, excerpt: string}} Hit */

export class ChatSearch {
  /** @param {{shows: (isFound: boolean) => void, current: () => string}} how */
  constructor({ shows, current }) {
    this._shows = shows;
    this._current = current;
    this.isFound = false;
    this._asked = 0;
    this._field = h("input", { class: "field", type: "search", placeholder: t("Search all chats"), "aria-label": t("Search all chats"), autocomplete: "off", maxlength: "200" });
    this.node = h("search", { class: "find" }, this._field);
    this._said = h("p", { class: "found-count", role: "status" });
    this._list = h("ul", {});
    this.found = h("div", { class: "found" }, this._said, this._list);
    this.found.hidden = true;
    let timer = 0;
    this._field.addEventListener("input", () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => void this._find(), WAIT);
    });
    this._field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this._field.value) return;
      event.stopPropagation();
      this._field.value = "";
      void this._find();
    });
  }

  async _find() {
    const words = this._field.value.trim();
    const asked = (this._asked += 1);
    if (!words) return this._show(null);
    try {
      const { hits } = await getJson(`/api/chats/search?limit=20&q=${encodeURIComponent(words)}`);
      if (asked === this._asked) this._show(hits);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (asked === this._asked) this._show([], error.message);
    }
  }

  /**
   * @param {Hit[] | null} hits
   * @param {string} [why]
   */
  _show(hits, why = "") {
    this.isFound = hits !== null;
    this.found.hidden = !this.isFound;
    this._shows(this.isFound);
    if (!hits) return;
    const count = hits.length === 1 ? t("1 chat found") : t("{n} chats found", { n: hits.length });
    setText(this._said, why || count);
    this._list.replaceChildren(...hits.map((one) => this._row(one)));
  }

  /** @param {Hit} hit */
  _row({ chat, turn, excerpt }) {
    const query = new URLSearchParams({ chat: chat.id, ...(turn ? { turn } : {}) });
    const isCurrent = chat.id === this._current() && "page";
    const link = h("a", { class: "row hit", href: `/?${query}`, "aria-current": isCurrent }, h("span", { dir: "auto" }, visibleLine(chat.title || chat.id)));
    if (excerpt) link.append(h("small", { dir: "auto" }, ...marked(excerpt)));
    return h("li", {}, link);
  }
}

/**
 * An excerpt with what was found in it marked.
 * @param {string} excerpt has U+0002 and U+0003 around it
 */
function marked(excerpt) {
  return excerpt.split(/(\u0002[^\u0003]*\u0003?)/).filter(Boolean).map((piece) => {
    const words = visibleLine(piece.replace(/[\u0002\u0003]/g, ""));
    return piece.startsWith("\u0002") ? h("mark", { class: "hit" }, words) : words;
  });
}
