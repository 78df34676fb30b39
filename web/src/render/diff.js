/**
 * What a call would change: the changed lines with their numbers, three lines of context, and how
 * many lines stay as they are. Text that is no diff is shown as it is.
 *
 *     tools/release.py   2 places, 14 changed lines, all shown
 *
 * Changed and unchanged lines add up to the file. Unchanged ones can be shown where the call has
 * the whole file in it.
 *
 * @module
 */

import { h, setText } from "../dom.js";
import { visibleLine } from "../safe.js";
import { linesOf, lineCount, grouped, rowsOf } from "./rows.js";
import { changesOf } from "./unified.js";

/** @typedef {import("./unified.js").Change} Change */
/** @typedef {import("./rows.js").Run} Run */
/** @typedef {import("./rows.js").Unseen} Unseen */

/**
 * @typedef {object} Diff
 * @property {string} name
 * @property {number} added
 * @property {number} gone
 * @property {number | null} stay how many lines stay as they are, where that is known
 * @property {boolean} isNew
 * @property {(unseen: Unseen) => HTMLElement} draw
 */

/**
 * The changes that a preview tells; none where it is no diff.
 * @param {string} preview
 * @param {readonly string[]} texts of the call, one of which may be the whole file
 * @returns {Diff[]}
 */
export function diffsOf(preview, texts) {
  return changesOf(preview).map((change) => diffOf(change, texts));
}

/**
 * @param {Change} change
 * @param {readonly string[]} texts
 * @returns {Diff}
 */
function diffOf(change, texts) {
  const { lines } = change;
  const count = (/** @type {string} */ sign) => lines.filter((one) => one.sign === sign).length;
  const [added, gone] = [count("+"), count("-")];
  const isNew = change.name.endsWith(" (new)");
  const whole = isNew ? null : texts.map(linesOf).find((one) => isAfter(change, one)) ?? null;
  const stay = isNew ? 0 : whole ? whole.length - added : null;
  const name = isNew ? change.name.slice(0, -" (new)".length) : change.name;
  return { name, added, gone, stay, isNew, draw: (unseen) => figure(change, { name, added, gone, isNew, whole }, unseen) };
}

/**
 * Whether lines are the file after the change.
 * @param {Change} change
 * @param {string[]} after
 */
function isAfter({ lines }, after) {
  return lines.every(({ sign, number, text }) => sign === "-" || sign === "@" || after[number - 1] === text);
}

/**
 * @param {Change} change
 * @param {{name: string, added: number, gone: number, isNew: boolean, whole: string[] | null}} about
 * @param {Unseen} unseen
 */
function figure(change, { name, added, gone, isNew, whole }, unseen) {
  const label = visibleLine(name);
  const shown = h("span", {});
  const runs = runsOf(change, whole);
  const places = runs.filter((run) => !run.fold).length;
  const what = isNew
    ? `new file, ${lineCount(added)}, `
    : `${places} place${places === 1 ? "" : "s"}, ${grouped(added + gone)} changed line${added + gone === 1 ? "" : "s"}, `;
  const rows = rowsOf(runs, `What would change in ${label}`, unseen, (count) => setText(shown, `${count} shown`));
  return h("figure", { class: "diff" }, h("figcaption", {}, h("b", {}, label), h("span", {}, what, shown)), ...rows);
}

/**
 * The places of a change, and how many lines stay between them.
 * @param {Change} change
 * @param {string[] | null} whole
 * @returns {Run[]}
 */
function runsOf({ lines }, whole) {
  /** @type {Run[]} */
  const runs = [];
  let next = 1;
  /** @type {Run} */
  let run = { lines: [] };
  const stays = (/** @type {number} */ until) => {
    if (until <= next) return;
    const fold = until - next;
    const kept = (whole ?? []).slice(next - 1, until - 1).map((text, i) => ({ sign: " ", number: next + i, text }));
    runs.push({ fold, lines: kept });
  };
  for (const line of lines) {
    const isNewPlace = line.sign === "@" && line.text === "⋯";
    if (isNewPlace) {
      if (run.lines.length > 0) runs.push(run);
      run = { lines: [] };
      continue;
    }
    if (run.lines.length === 0 && line.sign !== "@") stays(line.at ?? line.number);
    run.lines.push(line);
    if (line.sign === "+" || line.sign === " ") next = line.number + 1;
    else if (line.sign === "-") next = line.at ?? next;
  }
  if (run.lines.length > 0) runs.push(run);
  if (whole) stays(whole.length + 1);
  return runs;
}
