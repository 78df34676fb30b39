/** Chat texts are read as the dialect reads them, and stand in the same batches. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { partsOfText } from "../../web/src/from-text.js";
import { sections } from "../../web/src/group.js";
import { corpus, drawn } from "./corpus.js";

/** @import {Section} from "../../web/src/types.js" */

/** What a section says, as the corpus has it. @param {Section} section */
function said(section) {
  switch (section.kind) {
    case "prose":
      return { prose: section.text };
    case "batch":
      return { drawn: drawn(section), ids: section.calls.map((call) => call.id) };
    case "validation":
      return { validation: section.text };
    case "problem":
      return { code: section.code, detail: section.detail };
    default:
      return section;
  }
}

/** Neighbouring prose as one text, without the blanks around it. @param {any[]} items */
function joined(items) {
  /** @type {any[]} */
  const found = [];
  for (const item of items) {
    const last = found.at(-1);
    if ("prose" in item && last && "prose" in last) last.prose += item.prose;
    else found.push({ ...item });
  }
  return found
    .map((item) => ("prose" in item ? { prose: item.prose.trim() } : item))
    .filter((item) => item.prose !== "");
}

/** @param {any} item */
function expected(item) {
  if (item.entries) return [{ drawn: item.drawn, ids: item.entries.map((/** @type {any} */ one) => one.id) }];
  if ("validation" in item) return [{ validation: item.validation }];
  if ("broken" in item) return [{ prose: item.broken }, { code: item.code, detail: item.detail }];
  return [item];
}

for (const { name, text, items } of corpus("texts.json").texts) {
  test(name.replaceAll("-", " "), () => {
    const shown = sections(partsOfText(text)).map(said);
    assert.deepEqual(joined(shown), joined(items.flatMap(expected)));
  });
}

test("nothing of a text is lost, wherever it ends", () => {
  for (const { text } of corpus("texts.json").texts) {
    for (let at = 0; at <= text.length; at += 1) {
      const parts = partsOfText(text.slice(0, at));
      assert.ok(parts.length || !at);
    }
  }
});

test("a text that ends within a closing tag ends inside the block", () => {
  for (const end of ["", "<", "</", "</to", "</tool"]) {
    assert.deepEqual(sections(partsOfText(`<tool>f(x=1)${end}`)).map(({ kind }) => kind), ["prose", "problem"]);
  }
  assert.deepEqual(sections(partsOfText("<tool>f(x=1)</tools>")).map(({ kind }) => kind), ["prose"]);
});

test("many openings cost what they weigh", () => {
  for (const part of ["<tool>", "<tool>a(", '<tool id="', "<validation>", "🔧 **Tool Call:** `a", "&amp;", "&lt;"]) {
    partsOfText(part.repeat(20_000));
  }
});
