/**
 * Says to a screen reader what happened, politely: an approval once, a batch when it ends.
 *
 * @module
 */

import { h } from "../dom.js";

const KEPT_FOR = 5000;

export class Announcer {
  /** @param {ShadowRoot} root */
  constructor(root) {
    this.region = h("div", { class: "sr", role: "status", "aria-live": "polite" });
    root.append(this.region);
  }

  /**
   * Say a text. It goes again, so that nobody comes upon it later.
   * @param {string} text
   */
  say(text) {
    const line = h("p", {}, text);
    this.region.append(line);
    setTimeout(() => line.remove(), KEPT_FOR);
  }
}
