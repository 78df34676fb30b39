/**
 * The dialog that shows a file: an artifact, something the person gave, or the whole of a result.
 *
 *     preview({name: "report.pdf", mime: "application/pdf", href: "/api/artifacts/…"})
 *     preview({name: "file_read", text: "…"})
 */

import { sizeText } from "../src/display.js";
import { h, setText } from "../src/dom.js";
import { visibleLine } from "../src/safe.js";
import { ApiError } from "./api.js";
import { copyBy } from "./copying.js";
import { dialogHead, openDialog } from "./dialog.js";
import { firstBytes, loadable, save } from "./files.js";
import { kindOf, textOf } from "./preview-kinds.js";
import { MOST_BYTES, cutNote, linesView, markdownView, pdfView, pictureView, tableView } from "./preview-views.js";

/** @typedef {{name: string, mime?: string, href?: string, text?: string, size?: number}} Shown */
/** What is seen, what is to be said of it, and its text where it is one. @typedef {{view: HTMLElement, note: string, text?: string}} View */

/** @param {Shown} shown */
export async function preview(shown) {
  const name = visibleLine(shown.name) || "file";
  const dialog = h("dialog", { class: "sheet", "aria-labelledby": "preview-title" });
  const about = h("span", { class: "sub num" }, shown.size === undefined ? "" : sizeText(shown.size));
  const body = h("div", { class: "sheet-body" }, h("p", { class: "muted" }, "Loading"));
  const note = h("p", { class: "sheet-note", role: "status" });
  const copy = h("button", { type: "button", class: "btn" }, "Copy");
  copy.hidden = true;
  dialog.append(dialogHead(dialog, "preview-title", name, about, copy, download(shown, name, note)), body, note);
  openDialog(dialog);
  try {
    const view = await viewOf(shown, name, dialog);
    body.replaceChildren(view.view);
    setText(note, view.note);
    const { text } = view;
    if (text === undefined) return;
    copy.hidden = false;
    copy.onclick = () => copyBy(copy, text, dialog);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    body.replaceChildren(h("p", { class: "sheet-fault" }, error.message));
  }
}

/**
 * @param {Shown} shown
 * @param {string} name
 * @param {HTMLElement} note
 */
function download(shown, name, note) {
  const { href } = shown;
  if (!href) return null;
  const run = () => save(href, name).catch((error) => setText(note, error.message));
  return h("button", { type: "button", class: "btn", onclick: run }, "Download");
}

/**
 * @param {Shown} shown
 * @param {string} name
 * @param {HTMLDialogElement} dialog
 * @returns {Promise<View>}
 */
async function viewOf(shown, name, dialog) {
  const { href = "", mime = "", text } = shown;
  if (text !== undefined) return { ...linesView(text), text };
  const kind = kindOf(mime, name);
  if (kind === "picture" || kind === "pdf") {
    const { href: from, drop } = await loadable(href, mime);
    dialog.addEventListener("close", drop);
    return { view: kind === "pdf" ? pdfView(from, name) : pictureView(from, name), note: "" };
  }
  return kind === "none" ? nothing() : drawn(kind, name, await firstBytes(href, MOST_BYTES));
}

/**
 * @param {import("./preview-kinds.js").Kind} kind
 * @param {string} name
 * @param {{bytes: Uint8Array, size: number}} read
 * @returns {View}
 */
function drawn(kind, name, { bytes, size }) {
  const text = textOf(bytes);
  if (text === null) return nothing();
  const cut = cutNote(bytes.length, size);
  // Half a file is nothing to copy unawares; it is downloaded.
  const whole = cut ? {} : { text };
  if (kind === "markdown") return { view: markdownView(text), note: cut, ...whole };
  const { view, note } = kind === "table" ? tableView(text, name) : linesView(text);
  return { view, note: [cut, note].filter(Boolean).join(" "), ...whole };
}

function nothing() {
  const words = "There is no preview of this kind of file. Download it to open it.";
  return { view: h("p", { class: "muted" }, words), note: "" };
}
