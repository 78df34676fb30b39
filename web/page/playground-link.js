/**
 * A text and its dialect in the address of the page, so that it can be sent. The part behind `#` is
 * never sent to a server.
 *
 *     /playground#dialect=auto&text=…      the text deflated, then base64 for addresses
 */

const LONGEST = 1_000_000;

/**
 * @param {string} text
 * @param {string} dialect
 */
export async function fragmentOf(text, dialect) {
  const bytes = await through(new Blob([text.toWellFormed()]).stream(), new CompressionStream("deflate-raw"));
  return `#dialect=${encodeURIComponent(dialect)}&text=${base64Of(bytes)}`;
}

/**
 * The text and the dialect of a fragment; null where there is none, or none that can be read.
 * @param {string} fragment
 * @returns {Promise<{text: string, dialect: string} | null>}
 */
export async function readFragment(fragment) {
  const given = new URLSearchParams(fragment.slice(1));
  const packed = given.get("text");
  if (packed === null) return null;
  try {
    const bytes = bytesOf(packed);
    const stream = new Blob([bytes]).stream();
    const unpacked = await through(stream, new DecompressionStream("deflate-raw"), LONGEST * 4);
    return { text: new TextDecoder().decode(unpacked), dialect: given.get("dialect") ?? "auto" };
  } catch {
    return null;
  }
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
