/**
 * Markdown of people and models as nodes: the only place where markup is read.
 *
 *     markdown(text)                    a fragment
 *     new MarkdownView().update(text)   the same in a node, while the text grows
 *
 * HTML in the text is text. Links lead to http, https and mailto only, and say where; images
 * are links, so that nothing is loaded. What marked writes passes DOMPurify with a short list of
 * elements, and then every text passes `safe.js`, for a reference (`&#x202e;`) may bring what the
 * text itself did not hold.
 *
 * While a text grows, blocks that are over stay as they are: only the last two are read anew,
 * for a later line may still change or join them.
 *
 * @module
 */

import { Lexer, Marked } from "../vendor/marked.js";
import purify from "../vendor/purify.js";
import { h } from "./dom.js";
import { finish } from "./markdown-finish.js";
import { morph } from "./morph.js";
import { visible } from "./safe.js";

/** @typedef {import("../vendor/marked.js").Token} Token */
/** @typedef {Record<string, {href: string, title: string | null | undefined}>} Links */

const TAGS = [
  "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li",
  "ol", "p", "pre", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
];
/** @type {{RETURN_DOM_FRAGMENT: true, [option: string]: unknown}} */
const FENCE = {
  ALLOWED_TAGS: TAGS,
  ALLOWED_ATTR: ["href", "class", "align", "start"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  // Their values are no addresses, and are not read as such.
  ADD_URI_SAFE_ATTR: ["align", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

const LONGEST_PAIRED = 4000;
const LONG_WORD = /^[\w.!#$%&'*+/=?`{|}~-]{400}/;
const LONG_ADDRESS = /^\S{4000}/;
const ADDRESS = /^(?:https?:\/\/|ftp:\/\/|www\.)/i;
const PLAIN_WORD = /^(?:[`~]+|[\w.!#$%&'*+/=?{|}-]+)/;
// The half of something whose other half is still to come.
const HALF = /[\ud800-\udbff\r\u200c\u200d]$/;

const reader = new Marked({
  gfm: true,
  tokenizer: /** @type {any} */ ({
    // A tag is prose like any other.
    html: () => undefined,
    tag: () => undefined,
    // Pairing marks takes the square of their number: a very long paragraph has none.
    emStrong: unpaired,
    del: unpaired,
    // So does looking for addresses: no word that is longer holds one.
    url: (/** @type {string} */ text) => ((ADDRESS.test(text) ? LONG_ADDRESS : LONG_WORD).test(text) ? undefined : false),
    inlineText: plainWord,
  }),
  renderer: {
    html: ({ text }) => escapeText(text),
    image: ({ href, text }) => `<a href="${escapeText(href)}">${escapeText(text || href)}</a>`,
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

/**
 * No pair in a very long paragraph; false leaves it to the reader.
 * @param {string} _text
 * @param {string} all
 */
function unpaired(_text, all) {
  return all.length > LONGEST_PAIRED ? undefined : false;
}

/**
 * The beginning of a word that is far too long to mean anything else, as it stands.
 * @param {string} text
 */
function plainWord(text) {
  const raw = LONG_WORD.test(text) ? PLAIN_WORD.exec(text)?.[0] : undefined;
  return raw ? { type: "text", raw, text: raw, escaped: false } : false;
}

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
  /** @type {{token: Token, nodes: ChildNode[], level: number}[]} */
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
    if (safe === this.#text && (live || this.#isOver || !this.#hasLinks())) return;
    // A link may be explained after its use: once all has come, it is read as a whole.
    if (!safe.startsWith(this.#text) || (!live && this.#hasLinks())) this.#forget();
    this.#isOver = !live;
    this.#text = safe;
    try {
      this.#read(safe);
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
   * @param {{token: Token, nodes: ChildNode[], level: number}} block
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

/**
 * @param {string} text
 * @param {Links} links
 * @returns {Token[]}
 */
function read(text, links) {
  const lexer = new Lexer(reader.defaults);
  Object.assign(lexer.tokens.links, links);
  const tokens = lexer.lex(text);
  Object.assign(links, tokens.links);
  return [...tokens];
}

/**
 * @param {Token} token
 * @param {number} level of the heading above
 * @param {Links} links
 */
function draw(token, level, links) {
  const tokens = Object.assign([token], { links });
  const fragment = purify.sanitize(reader.parser(tokens), FENCE);
  const last = finish(fragment, level);
  // The line breaks between blocks show nothing.
  const nodes = [...fragment.childNodes].filter((one) => one.nodeName !== "#text" || one.textContent?.trim());
  return { nodes, level: last };
}

/** @param {Token[]} tokens */
const lengthOf = (tokens) => tokens.reduce((sum, one) => sum + one.raw.length, 0);

/** @param {ChildNode[]} nodes */
function drop(nodes) {
  for (const node of nodes) node.remove();
}

/** @param {string} text */
function escapeText(text) {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
