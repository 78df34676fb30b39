/**
 * A small picture of a file by its kind, drawn as paper; of an image, the image itself.
 *
 * @module
 */

import { h } from "../dom.js";
import { pictureHref } from "../safe.js";

/** @typedef {"pdf" | "image" | "table" | "code" | "text" | "file"} Shape */
/** @typedef {{shape: Shape, label: string}} Kind */

/** @type {[RegExp, Shape, string][]} */
const BY_MIME = [
  [/^application\/pdf\b/, "pdf", "PDF"],
  [/^image\//, "image", "Image"],
  [/^text\/(?:csv|tab-separated-values)\b|spreadsheet|ms-excel/, "table", "Table"],
  [/^text\/markdown\b/, "text", "Markdown"],
  [/json|xml|yaml|toml|javascript|typescript|x-(?:python|sh|c|rust|go|ruby|java)|^text\/(?:html|css)/, "code", "Code"],
  [/wordprocessing|msword|^text\//, "text", "Text"],
];
const CODE = /\.(?:py|js|mjs|ts|tsx|jsx|rs|go|c|h|cpp|java|rb|sh|sql|html|css|toml|ya?ml|json|xml|ini|diff|patch)$/i;
// The types that only show a picture: none of them can hold a script or an address.
const SHOWN = /^image\/(?:png|jpeg|gif|webp)$/;
const ROWS = { pdf: 7, text: 8, code: 7, table: 12, image: 0, file: 0 };

/**
 * @param {string} mime
 * @param {string} name
 * @returns {Kind}
 */
export function kindOf(mime, name) {
  const type = String(mime ?? "").toLowerCase();
  const found = BY_MIME.find(([pattern]) => pattern.test(type));
  if (CODE.test(name) && (!found || found[2] === "Text")) return { shape: "code", label: "Code" };
  return found ? { shape: found[1], label: found[2] } : { shape: "file", label: "File" };
}

/**
 * @param {Kind} kind
 * @param {import("../types.js").Artifact | import("../types.js").FileRef} thing
 * @param {string} href
 * @param {import("./host.js").Host} host
 * @returns {HTMLElement}
 */
export function thumbOf(kind, thing, href, host) {
  const node = h("div", { class: "artifact-thumb", "data-kind": kind.shape, "aria-hidden": "true" });
  for (let i = 0; i < ROWS[kind.shape]; i += 1) node.append(h("i"));
  const word = { pdf: "PDF", code: "‹›", table: "", text: "", image: "", file: "" }[kind.shape];
  if (word) node.append(h("b", {}, word));
  if (SHOWN.test(thing.mime)) void picture(node, thing, href, host);
  return node;
}

/**
 * Put the image in, once it is known where from, and if it is one.
 * @param {HTMLElement} node
 * @param {import("../types.js").Artifact | import("../types.js").FileRef} thing
 * @param {string} href
 * @param {import("./host.js").Host} host
 */
async function picture(node, thing, href, host) {
  const address = pictureHref(await host.pictureHref(thing, href));
  if (!address) return;
  const image = h("img", { alt: "", loading: "lazy", decoding: "async" });
  image.addEventListener("error", () => image.remove());
  image.src = address;
  node.append(image);
}
