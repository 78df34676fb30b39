/**
 * The lines of a text by chunks, as many as are drawn at once; a very long line is cut.
 *
 *     chunksOf(new Characters(text))   →   [{starts: [0, 14, …], numbers: [1, 2, …], end: 402}, …]
 */

/** @typedef {import("./playground-characters.js").Characters} Characters */
/** @typedef {{starts: number[], numbers: number[], end: number}} Chunk */

const LINES = 12;
const MOST_LINES = 400;
const CHUNKS = 600;
const LONGEST = 3000;
const ENOUGH = 1500;
const LINE_HEIGHT = 24;
const COLUMNS = 70;

/**
 * @param {Characters} chars
 * @returns {Chunk[]}
 */
export function chunksOf(chars) {
  const { starts, numbers } = chars.lines(LONGEST);
  // A watched chunk costs a little in each frame, a line that is built costs more, but once.
  const most = Math.max(LINES, Math.min(MOST_LINES, Math.ceil(starts.length / CHUNKS)));
  /** @type {Chunk[]} */
  const chunks = [];
  for (let at = 0; at < starts.length; ) {
    const from = at;
    const begin = /** @type {number} */ (starts[at]);
    do at += 1;
    while (at < starts.length && at - from < most && /** @type {number} */ (starts[at]) - begin < ENOUGH);
    chunks.push({ starts: starts.slice(from, at), numbers: numbers.slice(from, at), end: starts[at] ?? chars.length });
  }
  return chunks;
}

/** @param {Chunk} chunk */
export function heightOf({ starts, end }) {
  const lines = starts.map((start, at) => Math.max(1, Math.ceil(((starts[at + 1] ?? end) - start) / COLUMNS)));
  return LINE_HEIGHT * lines.reduce((sum, one) => sum + one, 0);
}

/**
 * The chunk that an offset is in; the last one for what is behind the text.
 * @param {Chunk[]} chunks
 * @param {number} offset
 */
export function chunkAt(chunks, offset) {
  let low = 0;
  let high = chunks.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (offset < /** @type {Chunk} */ (chunks[middle]).end) high = middle;
    else low = middle + 1;
  }
  return Math.max(0, low);
}
