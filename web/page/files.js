/**
 * Kept files, fetched with the token where there is one: whole for saving, the first piece of them
 * for looking at.
 *
 *     const {bytes, size} = await firstBytes("/api/artifacts/4f0c…", 65536);
 *     await save("/api/artifacts/4f0c…", "report.pdf");
 */

import { h } from "../src/dom.js";
import { ask } from "./api.js";

/**
 * The first bytes of a file, and how many it has.
 * @param {string} href
 * @param {number} most
 * @returns {Promise<{bytes: Uint8Array, size: number}>}
 */
export async function firstBytes(href, most) {
  if (href.startsWith("data:")) return firstOfData(href, most);
  const response = await ask(href, { headers: { range: `bytes=0-${most - 1}` } });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const whole = /\/(\d+)$/.exec(response.headers.get("content-range") ?? "");
  return { bytes: bytes.subarray(0, most), size: whole ? Number(whole[1]) : bytes.length };
}

/**
 * An address that an element can load from: the file's own, or a copy of what is no file of ours.
 * The copy has the type that is given, never the one that a file claims.
 * @param {string} href
 * @param {string} mime
 * @returns {Promise<{href: string, drop: () => void}>}
 */
export async function loadable(href, mime) {
  const isOwn = new URL(href, location.href).origin === location.origin;
  if (isOwn) return { href, drop: () => {} };
  const blob = href.startsWith("data:") ? blobOfData(href) : await (await ask(href)).blob();
  const copy = URL.createObjectURL(new Blob([blob], { type: mime }));
  return { href: copy, drop: () => URL.revokeObjectURL(copy) };
}

/**
 * Where a small picture of a file is loaded from; nowhere, if it cannot be had.
 * @param {{mime: string}} thing
 * @param {string} href
 */
export async function pictureOf(thing, href) {
  if (href.startsWith("data:")) return href;
  try {
    return (await loadable(href, thing.mime)).href;
  } catch {
    return "";
  }
}

/**
 * Save a file of the server under a name.
 * @param {string} href
 * @param {string} name
 */
export async function save(href, name) {
  const { href: from, drop } = await loadable(href, "application/octet-stream");
  const link = h("a", { href: from, download: name });
  link.click();
  // The browser reads the copy after the click has returned.
  setTimeout(drop, 60_000);
}

/**
 * A name that every system takes for a file.
 * @param {string} title
 * @param {string} ending
 */
export function fileName(title, ending) {
  const stem = title.replace(/[^\p{L}\p{N} ._-]+/gu, " ").replace(/\s+/g, " ").trim().slice(0, 80);
  return `${stem.replace(/^[. ]+|[. ]+$/g, "") || "chat"}.${ending}`;
}

/** @param {string} href */
function blobOfData(href) {
  const content = href.slice(href.indexOf(",") + 1);
  const text = /;base64,/.test(href.slice(0, 200)) ? atob(content) : decodeURIComponent(content);
  return new Blob([Uint8Array.from(text, (one) => one.charCodeAt(0))]);
}

/**
 * @param {string} href
 * @param {number} most
 */
async function firstOfData(href, most) {
  const blob = blobOfData(href);
  return { bytes: new Uint8Array(await blob.slice(0, most).arrayBuffer()), size: blob.size };
}
