/**
 * Files that go with a message: by the button, by pasting, and dropped anywhere on the page.
 *
 *     const files = new Attachments(list, {complain});    files.add(fileList)    files.taken()
 *
 * How much a message may carry is the server's to say. Only what a browser cannot even read into
 * memory is refused here.
 */

import { h, keyed } from "../src/dom.js";
import { sizeText } from "../src/display.js";
import { visible } from "../src/safe.js";
import { icon } from "./icons.js";

/** @typedef {{key: string, name: string, mime: string, size: number, url: string}} Attached */

const READABLE = 256 * 1024 * 1024;
let count = 0;

/** The files that wait to be sent. */
export class Attachments {
  /**
   * @param {HTMLElement} list
   * @param {{complain: (words: string) => void, changed: () => void}} told
   */
  constructor(list, { complain, changed }) {
    /** @type {Attached[]} */
    this.files = [];
    this._list = list;
    this._views = new Map();
    this._complain = complain;
    this._changed = changed;
    this._draw();
  }

  /**
   * @param {Iterable<File>} given
   */
  async add(given) {
    for (const file of given) {
      try {
        this.files.push(await read(file));
      } catch {
        this._complain(`${visible(file.name)} cannot be read: it is a folder, too large, or gone.`);
      }
      this._draw();
    }
  }

  /** All files; none wait any more. */
  taken() {
    const all = this.files;
    this.files = [];
    this._draw();
    return all;
  }

  /** @param {Attached[]} files those that were not sent after all */
  restore(files) {
    this.files = [...files, ...this.files];
    this._draw();
  }

  _draw() {
    keyed(this._list, this._views, this.files, (file) => file.key, (file) => this._view(file));
    this._list.hidden = this.files.length === 0;
    this._changed();
  }

  /**
   * @param {Attached} file
   * @returns {import("../src/dom.js").View<Attached>}
   */
  _view(file) {
    const name = visible(file.name);
    const remove = h("button", { type: "button", class: "btn icon", "data-kind": "quiet", "aria-label": `Remove ${name}` }, icon("close"));
    remove.addEventListener("click", () => {
      this.files = this.files.filter((one) => one !== file);
      this._draw();
    });
    const size = h("span", { class: "muted num" }, sizeText(file.size));
    return { node: h("li", {}, h("span", { class: "file-name" }, h("bdi", {}, name), " ", size), remove), update: () => {} };
  }
}

/**
 * @param {File} file
 * @returns {Promise<Attached>}
 */
function read(file) {
  return new Promise((done, fail) => {
    if (file.size > READABLE) return fail(new Error("too large"));
    const reader = new FileReader();
    reader.onerror = () => fail(reader.error);
    reader.onload = () => {
      const mime = /^[\w.+-]+\/[\w.+-]+$/.test(file.type) ? file.type : "application/octet-stream";
      const url = String(reader.result).replace(/^data:[^,]*,|^data:$/, `data:${mime};base64,`);
      done({ key: `file-${++count}`, name: file.name || "file", mime, size: file.size, url });
    };
    reader.readAsDataURL(file);
  });
}
