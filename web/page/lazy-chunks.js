/**
 * A long text as chunks, of which only those near the view are built; the others keep their place.
 *
 *     const chunks = new LazyChunks(scroller, box, {render: (item) => [node, …], height: (item) => 960});
 *     chunks.show(items);    chunks.renew(3, 5);    chunks.reveal(12);    chunks.letGo()
 */

import { h } from "../src/dom.js";

const NEAR = 300;

/**
 * @template T
 * @typedef {{render: (item: T, at: number) => Node[], height: (item: T) => number}} Drawing
 */

/** @template T */
export class LazyChunks {
  /**
   * @param {HTMLElement} scroller
   * @param {HTMLElement} box
   * @param {Drawing<T>} drawing
   */
  constructor(scroller, box, drawing) {
    this._scroller = scroller;
    this._box = box;
    this._drawing = drawing;
    /** @type {T[]} */
    this._items = [];
    /** @type {HTMLElement[]} */
    this._nodes = [];
    /** @type {Map<Element, number>} */
    this._places = new Map();
    /** @type {Set<number>} */
    this._built = new Set();
    this._observer = new IntersectionObserver((seen) => this._saw(seen), { root: scroller, rootMargin: `${NEAR}px 0px` });
  }

  /**
   * Show these items; one that is the same object as before is left as it is.
   * @param {T[]} items
   */
  show(items) {
    const before = this._items;
    this._items = items;
    while (this._nodes.length > items.length) this._drop(this._nodes.length - 1);
    items.forEach((item, at) => {
      if (at >= this._nodes.length) this._add(item, at);
      else if (before[at] !== item && !this.renew(at, at)) this._hold(at, this._drawing.height(item));
    });
  }

  /**
   * Draw chunks anew, if they are built; whether any was.
   * @param {number} from
   * @param {number} to the last one
   */
  renew(from, to) {
    let any = false;
    for (const at of this._built) {
      if (at < from || at > to) continue;
      this._build(at);
      any = true;
    }
    return any;
  }

  /**
   * The node of a chunk, built.
   * @param {number} at
   */
  reveal(at) {
    if (!this._built.has(at)) this._build(at);
    return this._nodes[at];
  }

  /** Fold at once what is far from the view: who scrolled far would draw it for nothing. */
  letGo() {
    const view = this._scroller.getBoundingClientRect();
    const boxes = [...this._built].map((at) => ({ at, box: /** @type {HTMLElement} */ (this._nodes[at]).getBoundingClientRect() }));
    for (const { at, box } of boxes) {
      if (box.bottom >= view.top - NEAR && box.top <= view.bottom + NEAR) continue;
      this._fold(at, box.height);
      this._watchAnew(at);
    }
  }

  /**
   * The observer tells only what changed since it last looked; this one it tells of in any case.
   * @param {number} at
   */
  _watchAnew(at) {
    const node = this._nodes[at];
    if (!node) return;
    this._observer.unobserve(node);
    this._observer.observe(node);
  }

  /**
   * @param {T} item
   * @param {number} at
   */
  _add(item, at) {
    const node = h("div", { class: "chunk" });
    this._nodes.push(node);
    this._places.set(node, at);
    this._hold(at, this._drawing.height(item));
    this._box.append(node);
    this._observer.observe(node);
  }

  /** @param {number} at */
  _drop(at) {
    const node = /** @type {HTMLElement} */ (this._nodes.pop());
    this._observer.unobserve(node);
    this._places.delete(node);
    this._built.delete(at);
    node.remove();
  }

  /** @param {IntersectionObserverEntry[]} seen */
  _saw(seen) {
    for (const { target, isIntersecting, boundingClientRect } of seen) {
      const at = this._places.get(target);
      if (at === undefined || isIntersecting === this._built.has(at)) continue;
      if (isIntersecting) this._build(at);
      else this._fold(at, boundingClientRect.height);
    }
  }

  /** @param {number} at */
  _build(at) {
    const node = this._nodes[at];
    const item = this._items[at];
    if (!node || item === undefined) return;
    node.style.removeProperty("height");
    node.replaceChildren(...this._drawing.render(item, at));
    this._built.add(at);
  }

  /**
   * @param {number} at
   * @param {number} height
   */
  _fold(at, height) {
    // A hidden tab has no height: its chunks keep what they show.
    if (!height) return;
    this._built.delete(at);
    this._nodes[at]?.replaceChildren();
    this._hold(at, height);
  }

  /**
   * @param {number} at
   * @param {number} height
   */
  _hold(at, height) {
    this._nodes[at]?.style.setProperty("height", `${height}px`);
  }
}
