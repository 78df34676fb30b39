/**
 * The inspector: the blocks of a timeline as they are stored, beside what the model sees of them.
 *
 *     /timeline?name=trip
 *
 * Choosing a block marks what the model sees of it, and the other way round.
 */

import { h } from "../src/dom.js";
import { sizeText } from "../src/shown.js";
import { ApiError, getJson } from "./api.js";
import { RowWindow } from "./row-window.js";
import { mountShell } from "./shell.js";
import { save, verify } from "./timeline-actions.js";
import { Blocks } from "./timeline-blocks.js";
import { follow, pages, viewOf } from "./timeline-loading.js";
import { blockJson, rowId, tableRow } from "./timeline-rows.js";
import { SegmentView } from "./timeline-view.js";

/** @typedef {import("./timeline-blocks.js").Row} Row */
/** @typedef {import("./timeline-blocks.js").Entry} Entry */

const WAIT = 150;
const PAUSE = 250;
/** @type {Record<string, number>} */
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity };

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {string} id
 * @param {Tag} _tag
 */
const part = (id, _tag) => /** @type {HTMLElementTagNameMap[Tag]} */ (document.getElementById(id));

class Inspector {
  /** @param {string} name */
  constructor(name) {
    this.name = name;
    this.blocks = new Blocks();
    this.selected = 0;
    /** @type {Row[]} */
    this._rows = [];
    /** @type {Map<number, number>} */
    this._places = new Map();
    this._live = "";
    this._frozen = 0;
    this._isDue = false;
    this._isAsking = false;
    this._table = part("raw", "table");
    this._scroller = part("raw-body", "div");
    this._window = new RowWindow(this._scroller, this._table, (at) => this._row(at));
    this._view = new SegmentView(part("view-body", "div"), part("view", "div"), (seq) => this.select(seq, "view"));
    this._listen();
  }

  _listen() {
    let timer = 0;
    part("find", "input").addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this._list(), WAIT);
    });
    part("type", "select").addEventListener("change", () => this._list());
    part("hidden", "input").addEventListener("change", () => this._list());
    this._table.addEventListener("click", (event) => this._click(event));
    this._table.addEventListener("keydown", (event) => this._key(event));
    const found = part("found", "div");
    part("verify", "button").addEventListener("click", () => verify(this.name, found, (seq) => this.select(seq)));
    const base = `/api/timelines/${encodeURIComponent(this.name)}`;
    part("save-page", "button").addEventListener("click", () => save(`${base}/page`, `${this.name}.html`, found));
    part("save-lines", "button").addEventListener("click", () => save(`${base}/lines`, `${this.name}.jsonl`, found));
  }

  /** Load all, then follow. */
  async start() {
    const bar = part("progress", "progress");
    try {
      for await (const { items, count } of pages(this.name, 0)) {
        this.blocks.add(items);
        bar.max = Math.max(1, count);
        bar.value = this.blocks.entries.length;
        bar.hidden = this.blocks.entries.length >= count;
        this._live = bar.hidden ? "" : `loading ${bar.value.toLocaleString("en")} of ${count.toLocaleString("en")}`;
        this._list();
      }
      bar.hidden = true;
      await this._refreshView();
      await follow(this.name, () => this.blocks.last, { came: (entries) => this._came(entries), tell: (words) => this._tell(words) });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      bar.hidden = true;
      this._tell(error.message);
    }
  }

  /** @param {Entry[]} entries */
  _came(entries) {
    this.blocks.add(entries);
    this._list();
    this._refreshView();
  }

  /** The model's view anew, from the cache point on; one question at a time. */
  async _refreshView() {
    this._isDue = true;
    if (this._isAsking) return;
    this._isAsking = true;
    try {
      while (this._isDue) {
        this._isDue = false;
        const { segments, facts } = await viewOf(this.name, this._view.segments.slice(0, this._frozen));
        this._frozen = facts.frozen;
        this.blocks.hidden = new Set(facts.hidden);
        this.blocks.cachePoint = facts.cache_point;
        this._view.show(segments);
        part("tokens", "span").textContent = tokenWords(facts);
        this._list();
        // A long view costs the server some time: what comes meanwhile is asked for at once.
        await new Promise((done) => setTimeout(done, PAUSE + segments.length / 5));
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      part("tokens", "span").textContent = error.message;
    } finally {
      this._isAsking = false;
    }
  }

  /** @param {string} words */
  _tell(words) {
    this._live = words;
    this._facts();
  }

  _facts() {
    const { entries, size } = this.blocks;
    const parts = [`${entries.length.toLocaleString("en")} blocks`, sizeText(size), this._live];
    const words = parts.filter(Boolean).join(" · ");
    if (part("facts", "p").textContent !== words) part("facts", "p").textContent = words;
  }

  /** List what fits the filter; who is at the end stays there. */
  _list() {
    const scroller = this._scroller;
    const isAtEnd = scroller.scrollTop > 0 && scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 4;
    this._offerTypes();
    const filter = {
      type: part("type", "select").value,
      words: part("find", "input").value.trim().toLowerCase(),
      withHidden: part("hidden", "input").checked,
    };
    this._rows = this.blocks.rows(filter);
    this._places = new Map(this._rows.flatMap((row, at) => (row.kind === "block" ? [[row.entry.seq, at]] : [])));
    this._table.setAttribute("aria-rowcount", String(this._rows.length + 1));
    this._window.show(this._rows.length);
    if (isAtEnd) scroller.scrollTop = scroller.scrollHeight;
    const all = this.blocks.entries.length.toLocaleString("en");
    part("count", "span").textContent = `${this._places.size.toLocaleString("en")} of ${all}`;
    this._facts();
  }

  _offerTypes() {
    const choice = part("type", "select");
    if (choice.options.length === this.blocks.types.size + 1) return;
    const chosen = choice.value;
    const known = [...this.blocks.types].sort();
    choice.replaceChildren(h("option", { value: "" }, "all"), ...known.map((type) => h("option", { value: type }, type)));
    choice.value = chosen;
  }

  /** @param {number} at */
  _row(at) {
    const row = /** @type {Row} */ (this._rows[at]);
    return tableRow(row, at, { tags: (entry) => this.blocks.tags(entry), selected: this.selected });
  }

  /**
   * Choose a block, on both sides.
   * @param {number} seq
   * @param {"table" | "view"} [from]
   */
  select(seq, from = "table") {
    const entry = this.blocks.at(seq);
    if (!entry) return;
    this.selected = seq;
    const place = this._places.get(seq);
    if (place !== undefined) this._window.reveal(place);
    for (const row of this._window.rows.values()) {
      if (row.dataset.seq) row.setAttribute("aria-selected", String(row.dataset.seq === String(seq)));
    }
    this._table.setAttribute("aria-activedescendant", rowId(seq));
    const block = part("block", "pre");
    block.replaceChildren(...blockJson(entry));
    block.scrollTop = 0;
    block.setAttribute("aria-label", `Block ${seq} as stored`);
    part("foot", "div").hidden = false;
    // The block below took room from the table.
    if (place !== undefined) this._window.reveal(place);
    this._view.mark(seq, true);
    if (from === "view") announce(`Block ${seq}, ${entry.block.type}`);
  }

  /** @param {MouseEvent} event */
  _click(event) {
    const row = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("tr[data-seq]"));
    if (row) this.select(Number(row.dataset.seq));
  }

  /** @param {KeyboardEvent} event */
  _key(event) {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const seqs = [...this._places.keys()];
    const at = seqs.indexOf(this.selected);
    const seq = seqs[Math.max(0, Math.min(seqs.length - 1, at < 0 && step === 1 ? 0 : at + step))];
    if (seq !== undefined) this.select(seq);
  }
}

/** @param {{tokens: number, hidden_tokens: number}} facts */
function tokenWords({ tokens, hidden_tokens }) {
  const shown = `${tokens.toLocaleString("en")} tokens`;
  return hidden_tokens ? `${shown}, ${hidden_tokens.toLocaleString("en")} hidden` : shown;
}

/** @param {string} words */
function announce(words) {
  const place = document.getElementById("said") ?? document.body.appendChild(h("div", { id: "said", class: "sr", role: "status" }));
  place.textContent = words;
}

/** The timelines to choose from; the one of the address, or the latest. */
async function offer() {
  const asked = new URLSearchParams(location.search).get("name") ?? "";
  const choice = part("name", "select");
  /** @type {{name: string, updated?: string}[]} */
  const known = (await getJson("/api/timelines")).timelines;
  known.sort((one, other) => ((one.updated ?? "") < (other.updated ?? "") ? 1 : -1));
  const names = known.map((one) => one.name);
  if (asked && !names.includes(asked)) names.unshift(asked);
  choice.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
  choice.value = asked || (names[0] ?? "");
  choice.addEventListener("change", () => location.assign(`/timeline?name=${encodeURIComponent(choice.value)}`));
  return choice.value;
}

/** On a narrow page one side is shown. */
function switchSides() {
  const panes = part("panes", "div");
  for (const side of ["raw", "model"]) {
    part(`show-${side}`, "button").addEventListener("click", () => {
      panes.dataset.show = side;
      for (const one of ["raw", "model"]) part(`show-${one}`, "button").setAttribute("aria-pressed", String(one === side));
      dispatchEvent(new Event("resize"));
    });
  }
}

/** A menu that is left is closed. */
function closeMenu() {
  const menu = part("export", "details");
  document.addEventListener("click", (event) => {
    if (!menu.querySelector("summary")?.contains(/** @type {Node} */ (event.target))) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary")?.focus();
  });
}

async function start() {
  switchSides();
  closeMenu();
  try {
    const name = await offer();
    part("chat", "a").href = name ? `/?chat=${encodeURIComponent(name)}` : "/";
    if (name) await new Inspector(name).start();
    else part("facts", "p").textContent = "No timelines yet. A chat writes the first one.";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    part("facts", "p").textContent = error.message;
  }
}

mountShell({ page: "timeline", chat: new URLSearchParams(location.search).get("name") ?? "" });
start();
