/**
 * Markdown of people and models as nodes, while it grows.
 *
 *     markdown(text)                    a fragment
 *     new MarkdownView().update(text)   the same in a node, while the text grows
 *
 * While a text grows, blocks that are over stay as they are: only the last two are read anew,
 * for a later line may still change or join them.
 *
 * @module
 */

import { h } from "./dom.js";
import { draw, read } from "./markdown-reader.js";
import { morph } from "./morph.js";
import { enrich } from "./rich.js";
import { visible } from "./safe.js";

/** @typedef {import("./markdown-reader.js").Links} Links */
/** @typedef {import("./markdown-reader.js").Token} Token */
/** @typedef {{token: Token, nodes: ChildNode[], level: number, isRich?: boolean}} Block */

// The half of something whose other half is still to come.
const HALF = /[\ud800-\udbff\r\u200c\u200d]$/;

/**
 * A text as nodes.
 * @param {string} text
 * @param {{live?: boolean}} [options] `live`: more of it is to come
 * @returns {DocumentFragment}
 */
export function markdown(text, options = {}) {
  const view = new MarkdownView();
  view.update(text, options);
  const whole = document.createDocumentFragment();
  whole.append(...view.node.childNodes);
  return whole;
}

/** A text in a node of its own, which may grow. */
export class MarkdownView {
  constructor() {
    this.node = document.createElement("div");
    this.node.className = "prose";
  }

  /** The text as it was last read. @type {string} */
  #text = "";
  /** @type {Block[]} */
  #blocks = [];
  /** @type {Links} */
  #links = {};
  #isOver = false;

  /**
   * Show a text. One that begins with the text shown before keeps the blocks that are over.
   * @param {string} text
   * @param {{live?: boolean}} [options]
   */
  update(text, { live = false } = {}) {
    const safe = visible(live ? text.replace(HALF, "") : text);
    if (safe === this.#text && (live || this.#isOver)) return;
    if (safe === this.#text && !this.#hasLinks()) {
      // Its last block will not grow any more.
      this.#isOver = true;
      this.#enrich(live);
      return;
    }
    // A link may be explained after its use: once all has come, it is read as a whole.
    if (!safe.startsWith(this.#text) || (!live && this.#hasLinks())) this.#forget();
    this.#isOver = !live;
    this.#text = safe;
    try {
      const isWhole = this.#blocks.length === 0;
      this.#read(safe);
      // The explanation may come with the very end.
      if (!live && !isWhole && this.#hasLinks()) {
        this.#forget();
        this.#text = safe;
        this.#read(safe);
      }
      this.#enrich(live);
    } catch {
      // Thousands of quotes within each other are too deep to read, and nobody means them.
      this.#forget();
      this.node.append(h("p", { class: "plain" }, safe));
    }
  }

  /** @param {string} text */
  #read(text) {
    const kept = this.#settled();
    const start = lengthOf(this.#blocks.slice(0, kept).map((one) => one.token));
    const tokens = read(text.slice(start), this.#links);
    if (start > 0 && start + lengthOf(tokens) !== text.length) {
      this.#forget();
      return this.#show(0, read(text, this.#links));
    }
    this.#show(kept, tokens);
  }

  #forget() {
    this.node.replaceChildren();
    this.#text = "";
    this.#blocks = [];
    this.#links = {};
  }

  #hasLinks() {
    return Object.keys(this.#links).length > 0;
  }

  /**
   * Colours and formulas for all blocks but the one that grows: it would be read again and again.
   * @param {boolean} live
   */
  #enrich(live) {
    const last = live ? this.#blocks.findLastIndex(({ token }) => token.type !== "space") : this.#blocks.length;
    for (const block of this.#blocks.slice(0, last)) {
      if (block.isRich) continue;
      block.isRich = true;
      if (block.nodes.some((node) => node instanceof Element)) enrich(this.node, block.nodes);
    }
  }

  /** How many blocks no later text can change. */
  #settled() {
    let at = this.#blocks.length;
    for (let open = 2; at > 0 && open > 0; at -= 1) {
      if (this.#blocks[at - 1]?.token.type !== "space") open -= 1;
    }
    return at;
  }

  /**
   * @param {number} kept
   * @param {Token[]} tokens
   */
  #show(kept, tokens) {
    let level = this.#blocks[kept - 1]?.level ?? 1;
    tokens.forEach((token, i) => {
      const held = this.#blocks[kept + i];
      if (held && held.token.raw === token.raw && held.token.type === token.type) {
        level = held.level;
        return;
      }
      const made = draw(token, level, this.#links);
      level = made.level;
      this.#put(kept + i, { token, ...made });
    });
    for (const gone of this.#blocks.splice(kept + tokens.length)) drop(gone.nodes);
  }

  /**
   * @param {number} at
   * @param {Block} block
   */
  #put(at, block) {
    const held = this.#blocks[at]?.nodes ?? [];
    const next = this.#blocks.slice(at + 1).find((one) => one.nodes.length > 0)?.nodes[0] ?? null;
    const nodes = block.nodes.map((fresh, i) => {
      const old = held[i];
      return old ? morph(old, fresh) : this.node.insertBefore(fresh, next);
    });
    drop(held.slice(nodes.length));
    this.#blocks[at] = { ...block, nodes };
  }
}

/** @param {Token[]} tokens */
const lengthOf = (tokens) => tokens.reduce((sum, one) => sum + one.raw.length, 0);

/** @param {ChildNode[]} nodes */
function drop(nodes) {
  for (const node of nodes) node.remove();
}
