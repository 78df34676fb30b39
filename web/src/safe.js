/**
 * Text and addresses of unknown origin, made safe to show.
 *
 *     ESC [ 3 1 m      ␛[31m         controls, as their pictures
 *     U+009B           ⟨U+009B⟩      controls beyond ASCII
 *     U+202E           ⟨U+202E⟩      what turns the reading direction
 *     U+200B           ⟨U+200B⟩      what cannot be seen, and makes two names look like one
 *     U+D800           ⟨U+D800⟩      half a character
 *
 * Line feeds and tabs stay. A joiner stays where scripts and emoji need it: between two
 * characters that are not ASCII. A run of text also stands in an element of its own
 * (`unicode-bidi: isolate`), so that its letters cannot turn those around it.
 *
 * @module
 */

const PLAIN = /^[\x20-\x7e\n\t\u00a1-\u00ac\u00ae-\u02ff]*$/;
const RETURN = /\r(?=\n)/g;
// Variation selectors stay (emoji need them), so do tags inside a flag.
const UNSAFE =
  /🏴[\u{e0020}-\u{e007e}]{1,16}\u{e007f}|[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\p{Cs}]/gu;
const BREAKS = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;
const PICTURES = 0x2400;

/**
 * Text with everything in it that could deceive shown, keeping its lines.
 * @param {unknown} text
 * @returns {string}
 */
export function visible(text) {
  const said = typeof text === "string" ? text : String(text ?? "");
  if (PLAIN.test(said)) return said;
  return said.replace(RETURN, "").replace(UNSAFE, picture);
}

/**
 * The same on one line.
 * @param {unknown} text
 * @returns {string}
 */
export function visibleLine(text) {
  const said = typeof text === "string" ? text : String(text ?? "");
  return visible(said.replace(BREAKS, " ").replaceAll("\t", " "));
}

/**
 * @param {string} found
 * @param {number} at
 * @param {string} whole
 */
function picture(found, at, whole) {
  const code = found.codePointAt(0) ?? 0;
  if (found.length > 2) return found;
  if (isJoiner(code) && joins(whole, at)) return found;
  if (code === 0x7f) return "␡";
  if (code < 0x20) return String.fromCharCode(PICTURES + code);
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** @param {number} code */
const isJoiner = (code) => code === 0x200c || code === 0x200d;

/**
 * Whether both neighbours are of a script, or emoji, that joiners are made for.
 * @param {string} whole
 * @param {number} at
 */
function joins(whole, at) {
  return /[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]/u.test(before(whole, at))
    && before(whole, at) > "\u02ff"
    && (whole[at + 1] ?? "") > "\u02ff";
}

/**
 * @param {string} whole
 * @param {number} at
 */
function before(whole, at) {
  const start = /[\udc00-\udfff]/.test(whole[at - 1] ?? "") ? at - 2 : at - 1;
  return whole.slice(Math.max(0, start), at);
}

const BLANKS = / {20,}/g;
// What has no ink, and every blank but the plain one and the tab.
const INKLESS = /[\u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\ufe00-\ufe0e\uffa0\r]/g;
// Marks that cover the letter before them, or more of them than any script stacks.
const STACKED = /(?!\u20e3)\p{Me}|(?<=\p{Mn}{3})\p{Mn}/gu;

/**
 * Text that somebody decides by: what takes no room is named, what pushes the rest away is counted.
 * @param {string} text
 * @returns {string}
 */
export function exactText(text) {
  const counted = text.replace(BLANKS, (found) => `⟨${found.length} blanks⟩`);
  const unstacked = counted.replace(STACKED, (found) => picture(found, 0, found));
  return visible(unstacked.replace(INKLESS, (found) => (found === "\r" ? "␍" : picture(found, 0, found))));
}

const OUTSIDE = new Set(["http:", "https:", "mailto:"]);
const PICTURE_DATA = /^data:image\/(?:png|jpeg|gif|webp);base64,[a-z0-9+/=]+$/i;
const FILE_DATA = /^data:[a-z0-9.+-]+\/[a-z0-9.+-]+(?:;[a-z0-9=-]+)*,/i;

/**
 * An address that text asks for: http, https or mailto, written in full; otherwise nothing.
 * @param {unknown} address
 * @returns {string}
 */
export function outsideHref(address) {
  if (typeof address !== "string" || /[\x00-\x20\x7f\\]/.test(address.trim())) return "";
  if (!/^[a-z]+:/i.test(address.trim())) return "";
  const url = parse(address);
  return url && OUTSIDE.has(url.protocol) && !url.username && !url.password ? url.href : "";
}

/**
 * An address of a file: of this site, made by this page (`blob:`), or outside by http.
 * @param {unknown} address
 * @returns {string}
 */
export function fileHref(address) {
  if (typeof address !== "string" || !address) return "";
  // A link that saves runs nothing, whatever type it names.
  if (FILE_DATA.test(address)) return address;
  const url = parse(address);
  if (!url) return "";
  return url.protocol === "http:" || url.protocol === "https:" || isOwnBlob(url) ? url.href : "";
}

/**
 * An address that the page itself may load a picture from: nothing outside is ever asked.
 * @param {unknown} address
 * @returns {string}
 */
export function pictureHref(address) {
  if (typeof address !== "string" || !address) return "";
  if (PICTURE_DATA.test(address)) return address;
  const url = parse(address);
  if (!url) return "";
  return isOwnBlob(url) || (url.origin === here() && /^https?:$/.test(url.protocol))
    ? url.href
    : "";
}

/** @param {URL} url */
const isOwnBlob = (url) => url.protocol === "blob:" && url.origin === here();

/** @param {string} address */
function parse(address) {
  try {
    return new URL(address, globalThis.document?.baseURI);
  } catch {
    return null;
  }
}

const here = () => globalThis.location?.origin ?? "";
