/**
 * An event as a row of the table: what it is, where it stands, and what it says.
 */

import { h } from "../src/dom.js";
import { visibleLine } from "../src/safe.js";
import { compactText } from "../src/shown.js";

/** @typedef {import("./playground-reading.js").ReadEvent} ReadEvent */

const SHOWN = 80;

/**
 * @param {ReadEvent} event
 * @param {number} at its number
 * @param {boolean} isLater
 */
export function eventRow(event, at, isLater) {
  const isBad = event.type === "malformed" || event.type === "problem" || event.call?.ended === false;
  return h(
    "tr",
    { "data-later": isLater, "data-kind": isBad ? "bad" : null, "aria-rowindex": at + 2 },
    h("td", { class: "r" }, String(at)),
    h("td", { class: "kind" }, nameOf(event.type)),
    h("td", { class: "nb r" }, `${event.span[0]}–${event.span[1]}`),
    h("td", { class: "under" }, ...says(event)),
  );
}

/** @param {string} type */
function nameOf(type) {
  return type.replace(/(^|-)([a-z])/g, (_, __, letter) => letter.toUpperCase());
}

/**
 * @param {ReadEvent} event
 * @returns {(Node | string)[]}
 */
function says(event) {
  switch (event.type) {
    case "call-started":
      return [h("b", {}, visibleLine(event.name)), " ", dim(visibleLine(event.id ?? ""))];
    case "call-ready":
      return ready(event);
    case "call-result":
      return [event.result?.error ? tag("error") : dim("output"), " ", short(compactText(event.result?.error ?? event.result?.output))];
    case "malformed":
    case "problem":
      return [tag(event.code ?? ""), " ", visibleLine(event.detail)];
    default:
      return [words(event.text ?? "")];
  }
}

/** @param {ReadEvent} event */
function ready({ call }) {
  const names = Object.keys(call?.input ?? {});
  const fields = dim(names.length ? visibleLine(names.join(", ")) : "no input");
  return call?.ended === false ? [fields, " ", tag("not ended")] : [fields];
}

/** @param {string} text */
function words(text) {
  if (text.trim()) return short(text.trim());
  const ends = text.split("\n").length - 1;
  if (ends) return dim(ends === 1 ? "a line end" : `${ends} line ends`);
  return dim(text ? "blanks" : "nothing");
}

/** @param {string} text */
function short(text) {
  const line = text.slice(0, SHOWN * 2).split("\n", 1)[0] ?? "";
  const cut = line.slice(0, SHOWN).trimEnd();
  return visibleLine(cut.length < text.length ? `${cut} …` : cut);
}

/** @param {string} text */
const dim = (text) => h("span", { class: "dim" }, text);

/** @param {string} text */
const tag = (text) => h("b", { class: "tag", "data-kind": "fail" }, visibleLine(text));
