/** Calls, results and sizes are shown as the server shows them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { batchHeader, callLine, lineText, resultLayout, sizeText } from "../../web/src/display.js";
import { redact } from "../../web/src/redact.js";
import { corpus, drawnCall } from "./corpus.js";

/** @import {Call, CallState} from "../../web/src/types.js" */

const SHOWN = corpus("shown.json");

/**
 * @param {CallState} state
 * @param {Partial<Call>} [more]
 * @returns {Call}
 */
const call = (state, more = {}) => ({ id: "c", name: "f", input: {}, state, ...more });

test("a call stands on its line as the server says it", () => {
  for (const { name, input, line } of SHOWN.calls) {
    // What no text view makes safe in a line is made safe here.
    const safe = line.replaceAll("\t", "    ").replaceAll("\u0001", "\ufffd");
    const shown = { ...input };
    // An empty half of what a positional dialect wrote is left out by every view.
    if ("body" in shown && "args" in shown) delete shown.body;
    const expected = "body" in input ? `${name}(args=a b)` : safe;
    const { name: called, args } = callLine(name, input);
    assert.equal(`${called}(${args})`, expected);
  }
});

test("a result stands beside its call, or below, as the server draws it", () => {
  for (const { name, given, failed, width, drawn } of SHOWN.results) {
    const outcome = failed ? { error: given ?? "" } : { output: given };
    const shown = drawnCall(call(failed ? "failed" : "done", { name, ...outcome }), width);
    assert.deepEqual(shown, drawn, JSON.stringify({ name, given, failed, width }));
  }
});

test("sizes are said as everywhere", () => {
  for (const { size, text } of SHOWN.sizes) assert.equal(sizeText(size), text);
  assert.equal(sizeText(NaN), "");
  assert.equal(sizeText(-1), "");
});

test("secrets are hidden as on the server", () => {
  for (const { text, redacted } of SHOWN.secrets) assert.equal(redact(text), redacted);
});

test("hiding secrets is quick in texts that are made to be slow", () => {
  const parts = ["token", "-", "a1", ":", " ", "//", "@", "curl -u ", "eyJ", "=", "<", ">", "sk-", "\\", '"', "x; "];
  for (const part of parts) redact(`token${part.repeat(2600)}`);
});

test("a call that is being written has no arguments yet", () => {
  assert.equal(lineText(call("writing", { input: undefined })), "f(…)");
});

test("a header counts failures, and names what runs while it is folded", () => {
  const calls = [call("done"), call("failed"), call("denied"), call("running", { name: "make" })];
  assert.equal(batchHeader(calls), "🔧 4 tool calls, 1 failed, 1 not run, running make (show details)");
  assert.equal(batchHeader(calls, true), "🔧 4 tool calls, 1 failed, 1 not run (hide details)");
  assert.equal(batchHeader([call("failed")]), "🔧 f, failed (show details)");
  assert.equal(batchHeader([call("denied")]), "🔧 f, not run (show details)");
  assert.equal(batchHeader([call("running")]), "🔧 f, running (show details)");
});

test("a narrow screen puts results below, and does not change what is said", () => {
  const long = call("done", { output: "a result of some length" });
  assert.equal(resultLayout(long, 80).kind, "inline");
  assert.equal(resultLayout(long, 20).kind, "below");
});
