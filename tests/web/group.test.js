/** Parts stand in batches, nothing jumps while they come, and no part is passed over. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { sections, sectionsOf } from "../../web/src/group.js";
import { newMessage, take } from "../../web/src/reduce.js";
import { drawn, liveStreams, turns } from "./corpus.js";

/** @import {Call, Part, Section} from "../../web/src/types.js" */

/**
 * @param {string} id
 * @param {object} [more]
 * @returns {Part}
 */
const call = (id, more = {}) => ({
  type: "dynamic-tool",
  toolCallId: id,
  toolName: "f",
  state: "output-available",
  input: {},
  output: "ok",
  ...more,
});
/** @param {string} text @returns {Part} */
const text = (text) => ({ type: "text", text });
/** @param {Section[]} found */
const kinds = (found) => found.map((section) => section.kind);
/** @param {Part[]} parts @returns {Call} */
function only(parts, options = {}) {
  const [batch] = sections(parts, options);
  assert.ok(batch?.kind === "batch" && batch.calls[0]);
  return batch.calls[0];
}

for (const { name, told } of turns().filter(({ told }) => told.batches)) {
  test(`${name}: the batches are those of a terminal`, () => {
    const message = newMessage();
    for (const chunk of told["5 chunks"]) take(message, chunk);
    const batches = sectionsOf(message).filter((section) => section.kind === "batch");
    assert.deepEqual(batches.map((batch) => drawn(batch)), told.batches);
  });
}

test("the sections of any prefix keep their keys and their order", () => {
  for (const { name, version, chunks } of liveStreams()) {
    const message = newMessage();
    /** @type {string[]} */
    let before = [];
    for (const chunk of chunks) {
      take(message, chunk);
      const keys = sectionsOf(message).map((section) => section.key);
      assert.equal(new Set(keys).size, keys.length, `${name} ${version}: a key twice`);
      const kept = keys.filter((key) => before.includes(key));
      assert.deepEqual(kept, before, `${name} ${version}: ${chunk.type}`);
      before = keys;
    }
  }
});

test("a batch grows only at its end", () => {
  for (const { chunks } of liveStreams()) {
    const message = newMessage();
    /** @type {Map<string, string[]>} */
    const before = new Map();
    for (const chunk of chunks) {
      take(message, chunk);
      for (const section of sectionsOf(message)) {
        if (section.kind !== "batch") continue;
        const ids = section.calls.map((one) => one.id);
        const known = before.get(section.key) ?? [];
        assert.deepEqual(ids.slice(0, known.length), known);
        before.set(section.key, ids);
      }
    }
  }
});

test("only blank text, steps and what stands outside keep a batch together", () => {
  const between = [
    { type: "step-start" },
    text(" \n"),
    { type: "data-approval", id: "a", data: { id: "a", toolCallId: "1", approved: true } },
    { type: "data-artifact", id: "x", data: { toolCallId: "1", digest: "d", size: 1, path: "p/a.txt" } },
  ];
  const found = sections([call("1"), ...between, call("2")]);
  assert.deepEqual(kinds(found), ["batch", "approval", "artifact"]);
  assert.deepEqual(kinds(sections([call("1"), text("and"), call("2")])), ["batch", "prose", "batch"]);
  const thought = { type: "reasoning", text: "hm" };
  assert.deepEqual(kinds(sections([call("1"), thought, call("2")])), ["batch", "thought", "batch"]);
});

test("a batch belongs to one member, whatever others say meanwhile", () => {
  /** @param {string} member */
  const of = (member) => ({ callProviderMetadata: { callblocks: { member } } });
  const said = { ...text("Hm."), providerMetadata: { callblocks: { member: "Bob" } } };
  const found = sections([call("1", of("Ann")), call("2", of("Bob")), said, call("3", of("Ann")), call("4", of("Bob"))]);
  assert.deepEqual(
    found.map((section) => section.kind === "batch" && [section.member, section.calls.map((one) => one.id)]),
    [["Ann", ["1", "3"]], ["Bob", ["2"]], false, ["Bob", ["4"]]],
  );
});

test("states of every version are read", () => {
  const asked = { type: "data-approval", id: "a", data: { id: "a", toolCallId: "1", toolName: "f" } };
  const open = { approval: { id: "a" } };
  assert.equal(only([call("1", { state: "input-streaming" })]).state, "writing");
  assert.equal(only([call("1", { state: "input-available", output: undefined })]).state, "running");
  assert.equal(only([call("1", { state: "input-available", output: undefined }), asked]).state, "waiting");
  assert.equal(only([call("1", { state: "approval-requested", output: undefined, ...open })]).state, "waiting");
  const yes = { approval: { id: "a", approved: true } };
  assert.equal(only([call("1", { state: "approval-responded", output: undefined, ...yes })]).state, "running");
  const no = { approval: { id: "a", approved: false, reason: "not now" } };
  const denied = only([call("1", { state: "approval-responded", output: undefined, ...no })]);
  assert.deepEqual([denied.state, denied.error], ["denied", "denied: not now"]);
  assert.equal(only([call("1", { state: "output-denied", output: undefined })]).state, "denied");
  const error = { state: "output-error", errorText: "approval_denied: a person said no" };
  assert.equal(only([call("1", error)]).state, "denied");
  assert.equal(only([call("1", { state: "output-error", errorText: "x: y" })]).state, "failed");
  assert.equal(only([call("1", { state: "output-available", preliminary: true })]).state, "running");
  assert.equal(only([call("1", { state: "from the future" })]).state, "done");
  assert.equal(only([call("1", { type: "tool-look", toolName: undefined })]).name, "look");
});

test("what no longer runs says so once nothing comes any more; a question stays open", () => {
  const going = call("1", { state: "input-available", output: undefined });
  assert.deepEqual(only([going], { live: false }).state, "failed");
  const asked = call("1", { state: "approval-requested", output: undefined, approval: { id: "a" } });
  assert.deepEqual(only([asked], { live: false }).state, "waiting");
});

test("a question that a call and a part tell of stands once, with the answer of either", () => {
  const data = { id: "a", toolCallId: "1", toolName: "f", reason: "it writes", preview: "+ a" };
  const part = { type: "data-approval", id: "a", data };
  const answered = call("1", { state: "approval-responded", output: undefined, approval: { id: "a", approved: true } });
  const found = sections([answered, part]);
  assert.deepEqual(kinds(found), ["batch", "approval"]);
  const [, section] = found;
  assert.deepEqual(section?.kind === "approval" && section.approval, {
    id: "a",
    callId: "1",
    tool: "f",
    input: {},
    reason: "it writes",
    preview: "+ a",
    approved: true,
  });
});

test("a question whose call is over asks no more", () => {
  const part = { type: "data-approval", id: "a", data: { id: "a", toolCallId: "1" } };
  const [, section] = sections([call("1", { state: "output-error", errorText: "approval_expired: too late" }), part]);
  assert.ok(section?.kind === "approval" && section.approval.over);
});

test("a file that is empty or leads nowhere has no card, and the rest of an output is its link", () => {
  const artifact = { type: "data-artifact", id: "x", data: { toolCallId: "1", digest: "d", size: 9, path: "o/1.txt", url: "/u" } };
  /** @param {object} more */
  const made = (more) => ({ ...artifact, data: { ...artifact.data, ...more } });
  assert.deepEqual(kinds(sections([call("1"), made({ size: 0 }), made({ digest: "" })])), ["batch"]);
  const cut = call("1", { output: "a\n... (9B in all, kept as o/1.txt)" });
  assert.deepEqual(only([cut, artifact]).more, { size: 9, href: "/u" });
  assert.deepEqual(kinds(sections([cut, artifact])), ["batch"]);
});

test("how a turn ended stands last, in the server's words where it told them", () => {
  const message = newMessage();
  take(message, { type: "message-metadata", messageMetadata: { status: "failed", code: "model_gone" } });
  assert.deepEqual(sectionsOf(message).at(-1), { kind: "ending", key: "ending", status: "failed", text: "The turn failed: model_gone." });
  take(message, { type: "error", errorText: "The turn failed: it is gone." });
  assert.deepEqual(sectionsOf(message).at(-1)?.kind === "ending" && sectionsOf(message).length, 1);
  assert.deepEqual(sections([], { status: "answered" }), []);
});

test("a call that is done stays the same object, until its part says another thing", () => {
  const parts = [call("1")];
  const before = only(parts);
  assert.equal(only(parts), before);
  Object.assign(parts[0] ?? {}, { output: "another" });
  assert.equal(only(parts).output, "another");
});

test("two things of one name have two keys", () => {
  const keys = sections([call("1"), text("a"), call("1"), text("b"), call("1")]).map((section) => section.key);
  assert.equal(new Set(keys).size, keys.length);
});
