/**
 * The text to write in, in the place of the text with marks: a plain textarea, so that any length
 * can be pasted and typed. A paste into an empty one shows at once what was read.
 *
 *     new Editor({area, view, button, changed: (text) => …})
 */

export class Editor {
  /**
   * @param {object} parts
   * @param {HTMLTextAreaElement} parts.area
   * @param {HTMLElement} parts.view
   * @param {HTMLElement} parts.button
   * @param {(text: string) => void} parts.changed
   */
  constructor({ area, view, button, changed }) {
    this._area = area;
    this._view = view;
    this._button = button;
    this._wasEmpty = true;
    button.addEventListener("click", () => (this.isOpen ? this.close(true) : this.open()));
    area.addEventListener("input", (event) => {
      changed(area.value);
      const isPaste = /** @type {InputEvent} */ (event).inputType === "insertFromPaste";
      if (isPaste && this._wasEmpty) this.close(true);
      this._wasEmpty = area.value === "";
    });
    area.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" && !(event.key === "Enter" && (event.ctrlKey || event.metaKey))) return;
      event.preventDefault();
      this.close(true);
    });
    view.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.target !== view) return;
      event.preventDefault();
      this.open();
    });
    view.addEventListener("dblclick", () => this.open());
  }

  get isOpen() {
    return !this._area.hidden;
  }

  /**
   * The text, from elsewhere; an empty one is there to be written.
   * @param {string} text
   */
  set(text) {
    this._area.value = text;
    this._wasEmpty = text === "";
    if (text) this.close();
    else this._toggle(true);
  }

  /** Write. */
  open() {
    this._toggle(true);
    this._area.focus();
  }

  /**
   * Show the text with its marks; nothing is shown of an empty one.
   * @param {boolean} [isAsked] by the person, who goes on where the text is
   */
  close(isAsked = false) {
    if (!this.isOpen || this._area.value === "") return;
    this._toggle(false);
    if (isAsked) this._view.focus();
  }

  /** @param {boolean} isOpen */
  _toggle(isOpen) {
    this._area.hidden = !isOpen;
    this._view.hidden = isOpen;
    this._button.textContent = isOpen ? "Show marks" : "Edit";
    this._button.setAttribute("aria-pressed", String(isOpen));
  }
}
