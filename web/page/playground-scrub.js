/**
 * The bar below: where the stream stands, a strip of what is in it, steps by events, and play.
 *
 *     const scrub = new Scrub(bar, (position) => …);
 *     scrub.show(reading);     scrub.position = 270
 */

import { h } from "../src/dom.js";
import { firstAt, markOf } from "./playground-reading.js";

/** @typedef {import("./playground-reading.js").Reading} Reading */

const SEGMENTS = 300;

export class Scrub {
  /**
   * @param {HTMLElement} bar
   * @param {(position: number) => void} moved
   */
  constructor(bar, moved) {
    const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (bar.querySelector(`#${name}`));
    this._moved = moved;
    this._range = /** @type {HTMLInputElement} */ (part("pos"));
    this._pace = /** @type {HTMLSelectElement} */ (part("pace"));
    this._play = part("play");
    this._where = part("where");
    this._strip = part("strip");
    /** @type {number[]} */
    this._stops = [];
    this._exact = 0;
    this._then = 0;
    this._range.addEventListener("input", () => this._jump(Number(this._range.value)));
    part("prev").addEventListener("click", () => this._jump(this._stops.findLast((at) => at < this.position) ?? 0));
    part("next").addEventListener("click", () => this._jump(this._stops.find((at) => at > this.position) ?? this.length));
    this._play.addEventListener("click", () => (this.isPlaying ? this.pause() : this._start()));
  }

  get length() {
    return Number(this._range.max);
  }

  get position() {
    return Number(this._range.value);
  }

  set position(position) {
    this._range.value = String(position);
    const words = `${this.position.toLocaleString("en")} of ${this.length.toLocaleString("en")}`;
    this._where.textContent = words;
    this._range.setAttribute("aria-valuetext", `${words} characters`);
  }

  get isPlaying() {
    return this._play.getAttribute("aria-pressed") === "true";
  }

  /**
   * Another text, or reading; all of it has arrived.
   * @param {Reading} reading
   */
  show(reading) {
    this.pause();
    this._range.max = String(reading.length);
    this._range.disabled = reading.length === 0;
    this._stops = [...new Set(reading.events.map(({ at }) => at))];
    this._strip.replaceChildren(...segments(reading));
    this.position = reading.length;
  }

  pause() {
    this._play.setAttribute("aria-pressed", "false");
    this._play.setAttribute("aria-label", "Play");
  }

  _start() {
    if (this.length === 0) return;
    if (this.position >= this.length) this.position = 0;
    this._play.setAttribute("aria-pressed", "true");
    this._play.setAttribute("aria-label", "Pause");
    this._exact = this.position;
    this._then = performance.now();
    this._moved(this.position);
    requestAnimationFrame((now) => this._tick(now));
  }

  /** @param {number} now */
  _tick(now) {
    if (!this.isPlaying) return;
    this._exact += (Number(this._pace.value) * Math.max(0, now - this._then)) / 1000;
    this._then = now;
    this.position = Math.min(this.length, Math.floor(this._exact));
    this._moved(this.position);
    if (this.position >= this.length) this.pause();
    else requestAnimationFrame((next) => this._tick(next));
  }

  /** @param {number} position */
  _jump(position) {
    this.pause();
    this.position = position;
    this._moved(this.position);
  }
}

/**
 * What each stretch of the text is; where there are many, some share a place.
 * @param {Reading} reading
 */
function segments(reading) {
  const places = stretches(reading);
  const step = Math.max(1, Math.ceil(places.length / SEGMENTS));
  const nodes = [];
  for (let at = 0; at < places.length; at += step) {
    const group = places.slice(at, at + step);
    const size = group.reduce((sum, one) => sum + one.size, 0);
    const kind = group.find((one) => one.kind)?.kind;
    const node = h("i", { "data-k": kind || null, "data-problem": group.some((one) => one.isBad) });
    node.style.setProperty("flex-grow", String(size));
    nodes.push(node);
  }
  return nodes;
}

/**
 * The text, cut where an event or a problem begins or ends.
 * @param {Reading} reading
 * @returns {{size: number, kind: string, isBad: boolean}[]}
 */
function stretches({ events, problems, length }) {
  const spans = [...problems.map(({ span }) => span)].sort((one, other) => one[0] - other[0]);
  const cuts = [...new Set([0, length, ...spans.flat(), ...events.map(({ span }) => span[0])])].sort((one, other) => one - other);
  const found = [];
  let bad = 0;
  for (let at = 0; at + 1 < cuts.length; at += 1) {
    const start = /** @type {number} */ (cuts[at]);
    while (bad < spans.length && /** @type {number} */ (spans[bad]?.[1]) <= start) bad += 1;
    const kind = markOf(events[firstAt(events, start)]);
    found.push({ size: /** @type {number} */ (cuts[at + 1]) - start, kind, isBad: (spans[bad]?.[0] ?? Infinity) <= start });
  }
  return found;
}
