/**
 * The only place where markup is read: blocks of Markdown, and each of them as nodes.
 *
 * HTML in the text is text. Links lead to http, https and mailto only, and say where; images
 * are links, so that nothing is loaded. What marked writes passes DOMPurify with a short list of
 * elements, and then every text passes `safe.js`, for a reference (`&#x202e;`) may bring what the
 * text itself did not hold.
 *
 * @module
 */

import { Lexer, Marked, Tokenizer } from "../vendor/marked.js";
import purify from "../vendor/purify.js";
import { additions } from "./markdown-additions.js";
import { finish } from "./markdown-finish.js";

/** @typedef {import("../vendor/marked.js").Token} Token */
/** @typedef {Record<string, {href: string, title: string | null | undefined}>} Links */

const TAGS = [
  "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li",
  "ol", "p", "pre", "span", "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
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
const LONGEST_LINK = 4000;
const LONG_WORD = /^[\w.!#$%&'*+/=?`{|}~-]{400}/;
const LONG_ADDRESS = /^\S{4000}/;
const ADDRESS = /^(?:https?:\/\/|ftp:\/\/|www\.)/i;
const PLAIN_WORD = /^(?:[`~]+|[\w.!#$%&'*+/=?{|}-]+)/;

const reader = new Marked({
  gfm: true,
  extensions: additions,
  tokenizer: /** @type {any} */ ({
    // A tag is prose like any other.
    html: () => undefined,
    tag: () => undefined,
    // Pairing marks takes the square of their number: a very long paragraph has none.
    emStrong: unpaired,
    del: unpaired,
    // So does looking for the end of each `[a](`: no link is longer.
    link: /** @this {any} @param {string} text */ function link(text) {
      return text.length > LONGEST_LINK ? Tokenizer.prototype.link.call(this, text.slice(0, LONGEST_LINK)) : false;
    },
    // And looking for addresses: no very long word holds one.
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
 * The blocks of a text; links that it explains are added to those that are known.
 * @param {string} text
 * @param {Links} links
 * @returns {Token[]}
 */
export function read(text, links) {
  const lexer = new Lexer(reader.defaults);
  Object.assign(lexer.tokens.links, links);
  const tokens = lexer.lex(text);
  Object.assign(links, tokens.links);
  return [...tokens];
}

/**
 * A block as nodes, and the level of the last heading in it.
 * @param {Token} token
 * @param {number} level of the heading above
 * @param {Links} links
 */
export function draw(token, level, links) {
  const tokens = Object.assign([token], { links });
  const fragment = purify.sanitize(reader.parser(tokens), FENCE);
  const last = finish(fragment, level);
  // The line breaks between blocks show nothing.
  const nodes = [...fragment.childNodes].filter((one) => one.nodeName !== "#text" || one.textContent?.trim());
  return { nodes, level: last };
}

/** @param {string} text */
function escapeText(text) {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
