/**
 * How a call stands in its batch: its line, its result beside or below it, the batch's label.
 *
 *     🔧 4 tool calls, 1 failed, 1 not run
 *       run_shell_command(args=["pwd"]) → /app
 *       read_file(file_name=gone.toml) → ✗ no such file
 *       write_file(file_name=b.md) → denied by you: not today
 *       read_file(file_name=pyproject.toml)
 *         [name]
 *         version = "0.3.1"
 *         ... (truncated, 2.3KB)
 *
 * A result stands beside its call when it is one line and the entry fits in the width with its
 * indent of two, or when it has at most 20 characters; otherwise below, three lines at most.
 *
 * @module
 */

import { count, stripEnd } from "./blanks.js";
import { textOf } from "./notes.js";
import { compactText, oneLine, showArguments, showResult, splitCut } from "./shown.js";

import { verdictOf, verdictText } from "./verdicts.js";

export { sizeText } from "./shown.js";

/** @import {Call, CallLine, Layout} from "./types.js" */

const SHORT = 20;
const LINES_BELOW = 3;
const INDENT = 2;
const FAILED_MARK = 2;
const BREAK = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
const BREAKS = new RegExp(BREAK, "g");
const COLOUR = /\x1b\[[0-9;:?]*[A-Za-z]/g;
// Shown text comes from tools: it must not turn the reading direction, or hide in controls.
const UNSAFE = /[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/**
 * A call's name, and its arguments as shown: `name(args)`.
 * @param {unknown} name
 * @param {unknown} [input]
 * @returns {CallLine}
 */
export function callLine(name, input) {
  return { name: plainLine(oneLine(textOf(name))), args: plainLine(showArguments(said(input))) };
}

/**
 * The line of a call; one whose text came ready has it as it was.
 * @param {Call} call
 * @returns {CallLine}
 */
export function lineOf(call) {
  if (call.shown !== undefined) return splitLine(plainLine(call.shown));
  if (call.state === "writing" && call.input === undefined) {
    return { name: plainLine(oneLine(textOf(call.name))), args: "…" };
  }
  return callLine(call.name, call.input);
}

/**
 * A call's line as one text.
 * @param {Call} call
 * @returns {string}
 */
export function lineText(call) {
  const { name, args } = lineOf(call);
  return args === null ? name : `${name}(${args})`;
}

/**
 * Where the result of a call stands, and its lines. `failed` says that they tell why it failed.
 * @param {Call} call
 * @param {number} [columns] how many characters fit beside each other
 * @returns {Layout}
 */
export function resultLayout(call, columns = 80) {
  if (isPending(call)) return { kind: "pending", text: "", lines: [] };
  const verdict = verdictFor(call);
  const failed = isFailed(call) && !verdict;
  const [shown, size] = splitCut(verdict ? verdictText(verdict) : resultText(call));
  const lines = plainLines(shown);
  if (!lines.length && size === null) return { kind: failed ? "failed" : "empty", failed, text: "", lines };
  if (size === null && lines.length === 1 && fits(call, lines[0] ?? "", failed, columns)) {
    return { kind: "inline", failed, text: lines[0] ?? "", lines };
  }
  const below = lines.slice(0, LINES_BELOW);
  const more = moreText(lines.length - LINES_BELOW, size);
  return { kind: "below", failed, text: below.join("\n"), lines: below, ...(more ? { more } : {}) };
}

/**
 * What a batch is called: its only call's name, or how many calls there are.
 * @param {readonly Call[]} calls
 * @returns {string}
 */
export function batchLabel(calls) {
  const [first] = calls;
  return calls.length === 1 && first ? lineOf(first).name : `${calls.length} tool calls`;
}

/**
 * How many of a batch failed, in words; nothing where none did.
 * @param {readonly Call[]} calls
 * @returns {string}
 */
export function failedLabel(calls) {
  const failed = calls.filter((call) => isFailed(call) && !verdictFor(call)).length;
  if (!failed) return "";
  return calls.length === 1 ? "failed" : `${failed} failed`;
}

/**
 * How many of a batch did not run, in words; nothing where all did.
 * @param {readonly Call[]} calls
 * @returns {string}
 */
export function notRunLabel(calls) {
  const unrun = calls.filter(verdictFor).length;
  if (!unrun) return "";
  return calls.length === 1 ? "not run" : `${unrun} not run`;
}

/**
 * Who or what kept a call from running, and why; null for one that ran, or may run.
 * @param {Call} call
 * @returns {import("./verdicts.js").Verdict | null}
 */
export function verdictFor(call) {
  if (!isFailed(call)) return null;
  const known = verdictOf(call.error ?? "");
  if (known || call.state === "failed") return known;
  const why = (call.error ?? "").replace(/^denied(?:: )?/, "");
  return { lead: "denied by you", why };
}

/**
 * Which call of a batch runs, in words; nothing where none does.
 * @param {readonly Call[]} calls
 * @returns {string}
 */
export function runningLabel(calls) {
  const running = calls.filter(isPending);
  const last = running.at(-1);
  if (!last) return "";
  if (calls.length === 1) return "running";
  const others = running.length > 1 ? ` and ${running.length - 1} more` : "";
  return `running ${lineOf(last).name}${others}`;
}

/**
 * The header of a batch in one line, as a text view has it.
 * @param {readonly Call[]} calls
 * @param {boolean} [expanded]
 * @returns {string}
 */
export function batchHeader(calls, expanded = false) {
  const notes = [batchLabel(calls), failedLabel(calls), notRunLabel(calls), expanded ? "" : runningLabel(calls)];
  const hint = expanded ? "(hide details)" : "(show details)";
  return `🔧 ${notes.filter(Boolean).join(", ")} ${hint}`;
}

/** @param {Call} call */
export const isPending = (call) => ["writing", "waiting", "running"].includes(call.state);

/** @param {Call} call */
export const isFailed = (call) => call.state === "failed" || call.state === "denied";

/**
 * All of a result, or of why there is none, as text.
 * @param {Call} call
 * @returns {string}
 */
export function wholeText(call) {
  const given = isFailed(call) ? call.error : call.output;
  return given === undefined || given === null ? "" : compactText(given);
}

/**
 * Text as safe lines, without the blank ones around it.
 * @param {string} text
 * @returns {string[]}
 */
export function plainLines(text) {
  const lines = text.split(BREAK).map((line) => stripEnd(plainLine(line)));
  while (lines.length && !lines.at(-1)) lines.pop();
  const start = lines.findIndex(Boolean);
  return lines.slice(Math.max(0, start));
}

/**
 * Text made safe to show on one line.
 * @param {string} text
 * @returns {string}
 */
export function plainLine(text) {
  const flat = text.replace(COLOUR, "").replace(BREAKS, " ").replaceAll("\t", "    ");
  return flat.replace(UNSAFE, "\ufffd");
}

/** @param {Call} call */
function resultText(call) {
  const given = isFailed(call) ? call.error : call.output;
  // What came ready was cut by whoever showed it.
  return call.shown === undefined ? showResult(given) : wholeText(call);
}

/**
 * What a positional dialect gives before a tool is known; an empty half of it says nothing.
 * @param {any} input
 */
function said(input) {
  const keys = Object.keys(input ?? {});
  const isRaw = keys.length === 2 && keys.includes("args") && keys.includes("body");
  return isRaw ? Object.fromEntries(Object.entries(input).filter(([, value]) => value !== "")) : input;
}

/**
 * @param {string} line
 * @returns {CallLine}
 */
function splitLine(line) {
  const paren = line.indexOf("(");
  if (paren < 0) return { name: line, args: null };
  const args = line.slice(paren + 1);
  return { name: line.slice(0, paren), args: args.endsWith(")") ? args.slice(0, -1) : args };
}

/**
 * @param {Call} call
 * @param {string} line
 * @param {boolean} failed
 * @param {number} columns
 */
function fits(call, line, failed, columns) {
  const wide = count(line, columns + SHORT) + (failed ? FAILED_MARK : 0);
  return wide <= SHORT || INDENT + count(lineText(call), columns) + " → ".length + wide <= columns;
}

/**
 * @param {number} hidden how many lines are not shown
 * @param {string | null} size of the whole, where it was cut
 */
function moreText(hidden, size) {
  if (size !== null) return `... (truncated, ${size})`;
  return hidden > 0 ? `... (${hidden} more line${hidden > 1 ? "s" : ""})` : "";
}
