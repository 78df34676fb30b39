/**
 * What Markdown is given besides: formulas and footnotes, as extensions of marked.
 *
 *     $a^2$   \(a^2\)                  a formula in a line
 *     $$a^2$$   \[a^2\]                a formula of its own
 *     low water.[^1]                   a reference, to
 *     [^1]: Ninety minutes before.     a footnote, shown where it stands
 *
 * A dollar opens a formula where no blank follows it, and closes one where no blank stands before
 * it and no letter or digit after it: `$5 and $6` and `$HOME/$PATH` stay prose. A formula is read as
 * its source; `rich.js` draws it later. Numbers of footnotes are kept among the links of a text
 * (`[^1]` as `^1`), for these too may be explained after their use.
 *
 * Each search has an end that is near, so that no text takes the square of its length.
 *
 * @module
 */

const LONGEST = 2000;
const NEAR = 2000;
const OPENS = /\$|\\[([]|\[\^/;
const NOTE = /^\[\^([^\]\s^]{1,80})\]:[ \t]*([^\n]*(?:\n(?:[ \t]{2,}\S|(?![#>|*+\-~`\d[])\S)[^\n]*|\n[ \t]*(?=\n[ \t]{2,}\S))*)(?:\n+|$)/;
const REFERENCE = /^\[\^([^\]\s^]{1,80})\]/;
const INLINE = [
  { open: "$$", close: "$$", isOwn: true },
  { open: "\\[", close: "\\]", isOwn: true },
  { open: "\\(", close: "\\)", isOwn: false },
  { open: "$", close: "$", isOwn: false },
];
// A block may hold lines that would otherwise be lists or headings; blank lines end it.
const BLOCK = /^ {0,3}(\$\$|\\\[)/;

/** @typedef {{type: string, raw: string, [more: string]: any}} Token */
/** @typedef {{lexer: {tokens: {links: Record<string, any>}, blockTokens(text: string, tokens: Token[]): Token[]}}} Reading */

/** The extensions. @type {any[]} */
export const additions = [
  {
    name: "formulaBlock",
    level: "block",
    tokenizer: blockFormula,
    renderer: (/** @type {Token} */ { text }) => `<p class="formula own">${escaped(text)}</p>`,
  },
  {
    name: "formula",
    level: "inline",
    start,
    tokenizer: inlineFormula,
    renderer: (/** @type {Token} */ { text, isOwn }) => `<span class="formula${isOwn ? " own" : ""}">${escaped(text)}</span>`,
  },
  {
    name: "footnote",
    level: "block",
    tokenizer: footnote,
    childTokens: ["tokens"],
    renderer: note,
  },
  {
    name: "footnoteReference",
    level: "inline",
    tokenizer: reference,
    renderer: (/** @type {Token} */ { number }) => `<sup>${number}</sup>`,
  },
];

/**
 * Where an inline addition could begin. Without a hint marked reads on to the next mark it knows.
 * @param {string} text
 */
function start(text) {
  const at = text.slice(0, NEAR).search(OPENS);
  if (at >= 0) return at;
  return text.length > NEAR ? NEAR : undefined;
}

/** @param {string} text */
function blockFormula(text) {
  const mark = BLOCK.exec(text);
  if (!mark) return undefined;
  const close = mark[1] === "$$" ? "$$" : "\\]";
  const begin = mark[0].length;
  const near = text.slice(0, begin + LONGEST);
  const end = near.indexOf(close, begin);
  const source = near.slice(begin, end).trim();
  const rest = /^[ \t]*(?:\n+|$)/.exec(text.slice(end + 2));
  if (end < 0 || !source || !rest || /\n[ \t]*\n/.test(source)) return undefined;
  return { type: "formulaBlock", raw: text.slice(0, end + 2) + rest[0], text: source };
}

/** @param {string} text */
function inlineFormula(text) {
  const kind = INLINE.find(({ open }) => text.startsWith(open));
  if (!kind) return undefined;
  const { open, close, isOwn } = kind;
  const near = text.slice(0, LONGEST);
  const end = endOf(near, open.length, close);
  const source = near.slice(open.length, end);
  if (end < 0 || !source.trim() || /\n[ \t]*\n/.test(source)) return undefined;
  if (open === "$" && (/^\s|\s$/.test(source) || /^\w/.test(text.slice(end + 1)))) return undefined;
  return { type: "formula", raw: near.slice(0, end + close.length), text: source.trim(), isOwn };
}

/**
 * Where the closing mark stands; one behind a backslash closes nothing.
 * @param {string} text
 * @param {number} from
 * @param {string} close
 */
function endOf(text, from, close) {
  if (close !== "$") return text.indexOf(close, from);
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "$") return at;
  }
  return -1;
}

/**
 * @this {Reading}
 * @param {string} text
 */
function footnote(text) {
  if (!text.startsWith("[^")) return undefined;
  const found = NOTE.exec(text);
  if (!found) return undefined;
  const { links } = this.lexer.tokens;
  const name = `^${(found[1] ?? "").toLowerCase()}`;
  const number = numberOf(links, name) ?? Object.keys(links).filter((one) => one.startsWith("^")).length + 1;
  links[name] = { href: "", title: null, number };
  const body = (found[2] ?? "").replace(/\n[ \t]{2,4}/g, "\n");
  return { type: "footnote", raw: found[0], number, tokens: this.lexer.blockTokens(body, []) };
}

/**
 * @this {{parser: {parse(tokens: Token[]): string}}}
 * @param {Token} token
 */
function note(token) {
  return `<ol class="footnote" start="${token.number}"><li>${this.parser.parse(token.tokens)}</li></ol>`;
}

/**
 * @this {Reading}
 * @param {string} text
 */
function reference(text) {
  const found = REFERENCE.exec(text);
  const number = found && numberOf(this.lexer.tokens.links, `^${(found[1] ?? "").toLowerCase()}`);
  return number ? { type: "footnoteReference", raw: found[0], number } : undefined;
}

/**
 * @param {Record<string, any>} links
 * @param {string} name
 * @returns {number | undefined}
 */
function numberOf(links, name) {
  return Object.hasOwn(links, name) ? links[name].number : undefined;
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
