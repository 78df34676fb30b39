/**
 * A text, and what it is read by, in the address of the page, so that it can be sent. The part
 * behind `#` is never sent to a server.
 *
 *     /playground#dialect=auto&model=qwen3-8b&tools=…&text=…      texts deflated, then base64 for addresses
 */

/** @typedef {{text: string, dialect: string, model: string, tools: string}} Shared */

const LONGEST = 1_000_000;

/** @param {Shared} shared */
export async function fragmentOf({ text, dialect, model, tools }) {
  const parts = [`dialect=${encodeURIComponent(dialect)}`];
  if (model) parts.push(`model=${encodeURIComponent(model)}`);
  if (tools) parts.push(`tools=${await packed(tools)}`);
  return `#${parts.join("&")}&text=${await packed(text)}`;
}

/**
 * What a fragment holds; null where there is nothing, or nothing that can be read.
 * @param {string} fragment
 * @returns {Promise<Shared | null>}
 */
export async function readFragment(fragment) {
  const given = new URLSearchParams(fragment.slice(1));
  const text = given.get("text");
  if (text === null) return null;
  try {
    const tools = given.get("tools");
    return {
      text: await unpacked(text),
      dialect: given.get("dialect") ?? "auto",
      model: (given.get("model") ?? "").slice(0, 200),
      tools: tools ? await unpacked(tools) : "",
    };
  } catch {
    return null;
  }
}

/** @param {string} text */
async function packed(text) {
  return base64Of(await through(new Blob([text.toWellFormed()]).stream(), new CompressionStream("deflate-raw")));
}

/** @param {string} letters */
async function unpacked(letters) {
  const stream = new Blob([bytesOf(letters)]).stream();
  return new TextDecoder().decode(await through(stream, new DecompressionStream("deflate-raw"), LONGEST * 4));
}

/**
 * All bytes of a stream behind another. More than `most` are an error: a short address may unpack
 * to any length.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} stream
 * @param {CompressionStream | DecompressionStream} pipe
 * @param {number} [most]
 */
async function through(stream, pipe, most = Infinity) {
  const parts = [];
  let size = 0;
  const reader = stream.pipeThrough(pipe).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    if (size > most) {
      reader.cancel().catch(() => {});
      throw new RangeError("the text is too long");
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** @param {Uint8Array} bytes */
function base64Of(bytes) {
  const letters = [];
  for (let at = 0; at < bytes.length; at += 0x8000) letters.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  return btoa(letters.join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** @param {string} text */
function bytesOf(text) {
  const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
}
