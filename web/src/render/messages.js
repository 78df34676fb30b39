/**
 * Messages one below the other, each with its sections; what stays is not drawn anew.
 *
 * @module
 */

import { sectionsOf } from "../group.js";
import { Sections } from "./sections.js";

/** @import {Message, Section} from "../types.js" */
/** @import {Host} from "./host.js" */

/**
 * @typedef {object} Manner
 * @property {boolean} live the last message is still being said
 * @property {boolean} isClosed nothing comes any more
 * @property {boolean} withProse else only calls, and what belongs to them
 */

const WITHOUT_PROSE = new Set(["batch", "approval", "artifact", "validation"]);

/** What stands in a root, by the id of each message. */
export class Messages {
  /** @type {Map<string, {place: HTMLElement, sections: Sections}>} */
  #shown = new Map();
  #root;
  #host;

  /**
   * @param {ShadowRoot} root
   * @param {Host} host
   */
  constructor(root, host) {
    this.#root = root;
    this.#host = host;
  }

  /**
   * Show these messages, and no other.
   * @param {readonly Message[]} messages
   * @param {Manner} manner
   */
  show(messages, manner) {
    const ids = messages.map((message, at) => message.id || `message-${at}`);
    for (const [id, { place }] of this.#shown) {
      if (!ids.includes(id)) place.remove(), this.#shown.delete(id);
    }
    messages.forEach((message, at) => {
      const { place, sections } = this.#placeOf(ids[at] ?? "");
      const live = manner.live && at === messages.length - 1;
      place.dataset.from = message.role;
      const drawn = sectionsShown(message, { ...manner, live }, messages.length === 1);
      sections.show(drawn, live && manner.withProse);
    });
  }

  /** Take everything away. */
  clear() {
    for (const { place } of this.#shown.values()) place.remove();
    this.#shown.clear();
  }

  /** @param {string} id */
  #placeOf(id) {
    const known = this.#shown.get(id);
    if (known) return known;
    const place = document.createElement("div");
    place.className = "blocks";
    const made = { place, sections: new Sections(place, this.#host) };
    this.#shown.set(id, made);
    this.#root.append(place);
    return made;
  }
}

/**
 * @param {Message} message
 * @param {Manner} manner
 * @param {boolean} isAlone
 * @returns {Section[]}
 */
function sectionsShown(message, manner, isAlone) {
  const found = sectionsOf(message, coming(message, manner));
  // Two messages may use one key; what was opened is remembered for both.
  const named = isAlone ? found : found.map((one) => ({ ...one, key: `${message.id}/${one.key}` }));
  return manner.withProse ? named : named.filter(({ kind }) => WITHOUT_PROSE.has(kind));
}

/**
 * Whether more comes: yes, no, or only the parts themselves know.
 * @param {Message} message
 * @param {Manner} manner
 */
function coming(message, { live, isClosed }) {
  if (live) return { live: true };
  return isClosed || message.metadata?.status ? { live: false } : {};
}
