/**
 * Following the end of the conversation, only while the person is there; otherwise a button says
 * that there is more below.
 */

const NEAR = 64;

/** Watches the page's scroll and the size of the conversation. */
export class FollowEnd {
  /**
   * @param {HTMLButtonElement} button
   * @param {HTMLElement[]} growing what may change its height: the conversation, and the composer
   * @param {() => boolean} hasEnd false before anything was said: that page is read from its top
   */
  constructor(button, growing, hasEnd) {
    this.isThere = true;
    this._hasEnd = hasEnd;
    this._button = button;
    this._root = document.documentElement;
    addEventListener("scroll", () => this._scrolled(), { passive: true });
    addEventListener("resize", () => this._grew());
    const sizes = new ResizeObserver(() => this._grew());
    for (const one of growing) sizes.observe(one);
    button.addEventListener("click", () => {
      this.go();
      document.getElementById("say")?.focus({ preventScroll: true });
    });
  }

  /** Go to the end, and stay there. */
  go() {
    this.isThere = true;
    this._button.hidden = true;
    this._root.scrollTop = this._root.scrollHeight;
  }

  /** Something came: where the person is not at the end, the button says so. */
  news() {
    if (!this.isThere) this._button.hidden = false;
  }

  _grew() {
    if (this.isThere && this._hasEnd()) this.go();
  }

  _scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = this._root;
    this.isThere = scrollHeight - scrollTop - clientHeight < NEAR;
    if (this.isThere) this._button.hidden = true;
  }
}
