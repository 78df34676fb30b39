/**
 * A unified diff, taken apart by what its headings promise.
 *
 *     --- a/pyproject.toml                new file notes/a.md: 2 lines, 11 bytes
 *     +++ b/pyproject.toml                +hello
 *     @@ -14,2 +14,2 @@                   +there
 *      requires = [
 *     -  "wheel==0.43.0",
 *     +  "wheel>=0.43.0,<1",
 *
 * A hunk has as many lines as its heading says, whatever they look like: a changed line that
 * reads `--- other` opens no other file. Lines end at `\n` alone.
 *
 * @module
 */

/** @typedef {" " | "+" | "-" | "@"} Sign what is no line of a file has `@` */
/** @typedef {{sign: Sign, number: number, text: string, at?: number}} Line `at`: the next number after it */
/** @typedef {{name: string, lines: Line[]}} Change */

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const NEW = /^new file (.+): (\d+) lines?, \d+ bytes$/;

/**
 * The changes in a text; none where it is no diff.
 * @param {string} text
 * @returns {Change[]}
 */
export function changesOf(text) {
  const reader = new Reader();
  const rows = text.replace(/\n$/, "").split("\n");
  rows.forEach((row, at) => reader.take(row, rows[at + 1] ?? ""));
  return reader.changes;
}

class Reader {
  /** @type {Change[]} */
  changes = [];
  /** @type {Line[]} What stands before the first heading is shown below it. */
  #before = [];
  // Whether the next line is the second of a heading, and told by the name.
  #isHeading = false;
  // The numbers of the next lines, and how many of each side are still to come.
  #left = { at: 0, due: 0 };
  #right = { at: 0, due: 0 };

  /**
   * @param {string} row
   * @param {string} next
   */
  take(row, next) {
    const change = this.changes.at(-1);
    if (this.#isHeading) this.#isHeading = false;
    else if (change && this.#isDue(row)) this.#body(change, row);
    else if (!this.#opens(row, next)) this.#between(change?.lines ?? this.#before, row);
  }

  /** @param {string} row */
  #isDue(row) {
    if (row.startsWith("-")) return this.#left.due > 0;
    if (row.startsWith("+")) return this.#right.due > 0;
    return row.startsWith(" ") && this.#left.due > 0 && this.#right.due > 0;
  }

  /**
   * @param {Change} change
   * @param {string} row
   */
  #body(change, row) {
    const sign = /** @type {Sign} */ (row[0]);
    const side = sign === "-" ? this.#left : this.#right;
    const at = this.#right.at;
    change.lines.push({ sign, number: side.at, text: row.slice(1), at });
    for (const one of sign === " " ? [this.#left, this.#right] : [side]) {
      one.at += 1;
      one.due -= 1;
    }
  }

  /**
   * @param {string} row
   * @param {string} next
   */
  #opens(row, next) {
    const fresh = NEW.exec(row);
    this.#isHeading = !fresh && row.startsWith("--- ") && next.startsWith("+++ ");
    if (fresh) this.#right = { at: 1, due: Number(fresh[2]) };
    else if (!this.#isHeading) return false;
    const name = fresh ? `${fresh[1]} (new)` : nameOf(row, next);
    this.changes.push({ name, lines: this.#before.splice(0) });
    return true;
  }

  /**
   * @param {Line[]} lines
   * @param {string} row
   */
  #between(lines, row) {
    const hunk = HUNK.exec(row);
    if (hunk) {
      if (lines.length > 0) lines.push({ sign: "@", number: 0, text: "⋯" });
      this.#left = { at: Number(hunk[1]), due: Number(hunk[2] ?? 1) };
      this.#right = { at: Number(hunk[3]), due: Number(hunk[4] ?? 1) };
    } else {
      lines.push({ sign: "@", number: 0, text: row.replace(/^\\ /, "") });
    }
  }
}

/**
 * @param {string} from
 * @param {string} to
 */
function nameOf(from, to) {
  const name = (/** @type {string} */ row) => row.slice(4).split("\t")[0] ?? "";
  const isGit = / a\//.test(from) && / b\//.test(to);
  const [old, fresh] = isGit ? [name(from).slice(2), name(to).slice(2)] : [name(from), name(to)];
  if (fresh === "/dev/null") return `${old} (deleted)`;
  if (old === "/dev/null") return `${fresh} (new)`;
  return old === fresh ? fresh : `${old} → ${fresh}`;
}
