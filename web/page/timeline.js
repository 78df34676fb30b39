/**
 * The inspector: the blocks of a timeline as they are stored, beside what the model sees of them.
 *
 *     /timeline?name=trip              /timeline?name=trip&block=12     the block is chosen
 *
 * Choosing a block marks what the model sees of it, and the other way round.
 */

import "./language.js";
import { h } from "../src/dom.js";
import { sizeText } from "../src/shown.js";
import { ApiError } from "./api.js";
import { mountShell } from "./shell.js";
import { save, verify } from "./timeline-actions.js";
import { closeMenu, offer, part, switchSides } from "./timeline-bar.js";
import { Blocks } from "./timeline-blocks.js";
import { follow, pages, viewOf } from "./timeline-loading.js";
import { blockJson } from "./timeline-rows.js";
import { BlockTable } from "./timeline-table.js";
import { SegmentView } from "./timeline-view.js";

/** @typedef {import("./timeline-blocks.js").Entry} Entry */

const PAUSE = 250;

class Inspector {
  /** @param {string} name */
  constructor(name) {
    this.name = name;
    this.blocks = new Blocks();
    this._live = "";
    this._frozen = 0;
    this._listed = 0;
    this._isDue = false;
    this._isAsking = false;
    this._table = new BlockTable(this.blocks, (seq) => this.select(seq));
    this._view = new SegmentView(part("view-body", "div"), part("view", "div"), (seq) => this.select(seq, "view"));
    this._listen();
  }

  _listen() {
    const found = part("found", "div");
    part("verify", "button").addEventListener("click", () => verify(this.name, found, (seq) => this.select(seq)));
    const base = `/api/timelines/${encodeURIComponent(this.name)}`;
    part("save-page", "button").addEventListener("click", () => save(`${base}/page`, `${this.name}.html`, found));
    part("save-lines", "button").addEventListener("click", () => save(`${base}/lines`, `${this.name}.jsonl`, found));
  }

  /**
   * Load all, choose a block, then follow.
   * @param {number} [chosen]
   */
  async start(chosen = 0) {
    try {
      await this._load();
      if (chosen) this.select(chosen);
      await follow(this.name, () => this.blocks.last, { came: (entries) => this._came(entries), tell: (words) => this._tell(words) });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this._tell(error.message);
    } finally {
      part("progress", "progress").hidden = true;
    }
  }

  /** The blocks by pages; the first is shown at once, and the view is asked for meanwhile. */
  async _load() {
    let known = 0;
    for await (const { items, count } of pages(this.name, 0)) {
      this.blocks.add(items);
      this._progress(count);
      if (!known) this._refreshView();
      known ||= count;
    }
    this._tell("");
    this._list();
    part("progress", "progress").hidden = true;
    if (this.blocks.entries.length > known) this._refreshView();
  }

  /** @param {number} count */
  _progress(count) {
    const bar = part("progress", "progress");
    const loaded = this.blocks.entries.length;
    bar.max = Math.max(1, count);
    bar.value = loaded;
    bar.hidden = loaded >= count;
    // Drawing each page would cost more than loading it.
    if (performance.now() - this._listed < PAUSE) return;
    this._tell(bar.hidden ? "" : `loading ${loaded.toLocaleString("en")} of ${count.toLocaleString("en")}`);
    this._list();
  }

  /** @param {Entry[]} entries */
  _came(entries) {
    this.blocks.add(entries);
    this._list();
    this._facts();
    this._refreshView();
  }

  _list() {
    this._table.list();
    this._listed = performance.now();
  }

  /** The model's view anew, from the cache point on; one question at a time. */
  async _refreshView() {
    this._isDue = true;
    if (this._isAsking) return;
    this._isAsking = true;
    try {
      while (this._isDue) {
        this._isDue = false;
        await this._askView();
        // A long view costs the server some time: what comes meanwhile is asked for at once.
        await new Promise((done) => setTimeout(done, PAUSE + this._view.segments.length / 5));
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      part("tokens", "span").textContent = error.message;
    } finally {
      this._isAsking = false;
    }
  }

  async _askView() {
    const { segments, facts } = await viewOf(this.name, this._view.segments.slice(0, this._frozen));
    this._frozen = facts.frozen;
    this.blocks.hidden = new Set(facts.hidden);
    this.blocks.cachePoint = facts.cache_point;
    this._view.show(segments);
    part("tokens", "span").textContent = tokenWords(facts);
    this._list();
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

  /**
   * Choose a block, on both sides.
   * @param {number} seq
   * @param {"table" | "view"} [from]
   */
  select(seq, from = "table") {
    const entry = this.blocks.at(seq);
    if (!entry) return;
    this._table.choose(seq);
    const block = part("block", "pre");
    block.replaceChildren(...blockJson(entry));
    block.scrollTop = 0;
    block.setAttribute("aria-label", `Block ${seq} as stored`);
    part("foot", "div").hidden = false;
    // The block below took room from the table.
    this._table.reveal();
    this._view.mark(seq, true);
    if (from === "view") announce(`Block ${seq}, ${entry.block.type}`);
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

/** @param {string} asked the timeline of the address */
async function start(asked) {
  switchSides();
  closeMenu();
  try {
    const known = offer(asked);
    const name = asked || (await known);
    part("chat", "a").href = name ? `/?chat=${encodeURIComponent(name)}` : "/";
    if (name) await Promise.all([known, new Inspector(name).start(Number(parameters.get("block")))]);
    else part("facts", "p").textContent = "No timelines yet. A chat writes the first one.";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    part("facts", "p").textContent = error.message;
  }
}

const parameters = new URLSearchParams(location.search);
const asked = parameters.get("name") ?? "";
mountShell({ page: "timeline", chat: asked });
start(asked);
