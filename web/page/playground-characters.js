/**
 * A text by characters, as the server counts them: code points, not the halves that JavaScript has.
 *
 *     new Characters("🛠[a]").slice(1, 3)   →   "[a"
 */

export class Characters {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this._units = unitsOf(text);
    this.length = this._units ? this._units.length - 1 : text.length;
  }

  /**
   * Where a character begins in the string.
   * @param {number} at
   */
  unit(at) {
    const place = Math.max(0, Math.min(at, this.length));
    return this._units ? /** @type {number} */ (this._units[place]) : place;
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  slice(from, to) {
    return this.text.slice(this.unit(from), this.unit(to));
  }

  /**
   * The offsets at which lines begin; one that is longer than `most` is cut, and so begins anew.
   * @param {number} most
   * @returns {{starts: number[], numbers: number[]}} a line that goes on has the number 0
   */
  lines(most) {
    const starts = [0];
    const numbers = [1];
    let at = 0;
    let line = 1;
    for (const char of this.text) {
      at += 1;
      if (char === "\n") {
        line += 1;
        starts.push(at);
        numbers.push(line);
      } else if (at - /** @type {number} */ (starts.at(-1)) >= most) {
        starts.push(at);
        numbers.push(0);
      }
    }
    return { starts, numbers };
  }
}

/**
 * Where each character begins, or null where that is its number.
 * @param {string} text
 */
function unitsOf(text) {
  if (!/[\ud800-\udbff]/.test(text)) return null;
  const units = [];
  let unit = 0;
  for (const char of text) {
    units.push(unit);
    unit += char.length;
  }
  units.push(unit);
  return Uint32Array.from(units);
}
