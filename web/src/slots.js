/**
 * Sections in their order: each may have others that stand right after it, and a key of its own.
 *
 * @module
 */

/** @import {Section} from "./types.js" */

/** @typedef {{section: Section, after: Section[]}} Slot */

/** Keeps sections; keys that were given out are not given out again. */
export class Slots {
  /** @type {Slot[]} */
  #slots = [];
  /** @type {Set<string>} */
  #keys = new Set();

  /** All of them, in the order in which they are drawn. @returns {Section[]} */
  get sections() {
    return this.#slots.flatMap((slot) => [slot.section, ...slot.after]);
  }

  /**
   * @param {Section} section
   * @returns {Slot}
   */
  push(section) {
    /** @type {Slot} */
    const slot = { section, after: [] };
    this.#slots.push(slot);
    return slot;
  }

  /**
   * Whether a key was given out.
   * @param {string} name
   * @returns {boolean}
   */
  has(name) {
    return this.#keys.has(name);
  }

  /**
   * A key that nothing else has: the name, or a copy of it.
   * @param {string} name
   * @returns {string}
   */
  key(name) {
    let key = name;
    for (let copy = 2; this.#keys.has(key); copy += 1) key = `${name}~${copy}`;
    this.#keys.add(key);
    return key;
  }
}
