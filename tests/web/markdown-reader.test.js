/** Long paragraphs are read in pieces that end: no search goes through all that follows. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { read } from "../../web/src/markdown-reader.js";
import { Tokenizer } from "../../web/vendor/marked.js";

/** @param {string} text */
function kinds(text) {
  const [block] = read(text, {});
  return /** @type {{tokens: {type: string}[]}} */ (/** @type {unknown} */ (block)).tokens.map((one) => one.type);
}

test("a link is looked for in the next 4,000 characters only", (t) => {
  const original = Tokenizer.prototype.link;
  let longest = 0;
  t.mock.method(Tokenizer.prototype, "link", /** @this {any} @param {string} text */ function link(text) {
    longest = Math.max(longest, text.length);
    return original.call(this, text);
  });
  read("[a](".repeat(3000) + "))", {});
  assert.ok(longest > 0 && longest <= 4000);
});

test("links stay links in a long paragraph", () => {
  assert.deepEqual(kinds(`[a](b) ${"x ".repeat(3000)}[e](f)`), ["link", "text", "link"]);
});
