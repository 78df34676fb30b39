/**
 * Colours of code and formulas as MathML, drawn once what draws them is there.
 *
 *     enrich(node)                     draw what a node of Markdown holds: now, or once loaded
 *
 * `highlight.js` and Temml are loaded with the first text that needs them: a page without code and
 * formulas asks for neither. Both are read as trees, never as markup: nodes are made here, of the
 * elements and attributes listed below and of nothing else. What cannot be drawn stays its source.
 *
 * @module
 */

import { h } from "./dom.js";

/** @typedef {import("../vendor/highlight.js").Scoped} Scoped */
/** @typedef {import("../vendor/temml.js").MathTree} MathTree */

// Some of the patterns take the square of a line, or of all: what nobody wrote by hand stays plain,
// and a language that took long once is not coloured again.
const LONGEST_CODE = 20_000;
const LONG_LINE = /[^\n]{500}/;
const PATIENCE = 200;
/** @type {Set<string>} */
const slow = new Set();
const LONGEST_FORMULA = 2000;
const NS = "http://www.w3.org/1998/Math/MathML";
const CODE = "code[data-language]:not([data-drawn])";
const FORMULA = ".formula:not([data-drawn])";

/** Five hues for all scopes; the first word that fits decides. @type {[RegExp, string][]} */
const HUES = [
  [/^(comment|quote|meta prompt|doctag)/, "c"],
  [/^(string|regexp|char|addition|link|symbol|bullet|code)/, "s"],
  [/^(number|literal)/, "n"],
  [/^(title|name|section|attr|attribute|built_in|selector|property|type|tag|class)/, "f"],
  [/^(keyword|operator|meta|template|deletion|strong)/, "k"],
];

const ELEMENTS = new Set(
  `math maction merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow mspace
  msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none`.split(/\s+/),
);
const ATTRIBUTES = new Set(
  `accent accentunder columnalign depth display displaystyle fence form height largeop linethickness lspace
  mathvariant maxsize minsize movablelimits rowspacing rspace scriptlevel separator stretchy symmetric
  voffset width`.split(/\s+/),
);
const VALUE = /^[a-z0-9 .%+-]{1,40}$/i;
// Space and lines around cells. No colours: they are the page's, so that all can be read.
const STYLES = new Set([
  "padding", "padding-left", "padding-right", "padding-top", "padding-bottom", "text-align", "width",
  "border", "border-left", "border-right", "border-top", "border-bottom", "display",
]);
const CLASSES = /^(?:tml-(?:left|right|jot|small|cases|cancel|xcancel|eqn|display)|upstrike|downstrike|sout)$/;

/**
 * A library, loaded once; whoever asks before it is there is called again when it is.
 * @template T
 */
class Late {
  /** @type {T | undefined} */
  #value;
  #isAsked = false;
  /** @type {Set<WeakRef<ParentNode>>} */
  #waiting = new Set();
  #load;

  /** @param {() => Promise<{default: T}>} load */
  constructor(load) {
    this.#load = load;
  }

  /**
   * @param {ParentNode} place which is drawn once it is loaded
   * @returns {T | undefined}
   */
  for(place) {
    if (!this.#value) this.#waiting.add(new WeakRef(place));
    if (!this.#isAsked) {
      this.#isAsked = true;
      // Where it cannot be loaded, what it would have drawn stays as it is.
      this.#load().then(({ default: value }) => this.#came(value), () => {});
    }
    return this.#value;
  }

  /** @param {T} value */
  #came(value) {
    this.#value = value;
    for (const one of this.#waiting) {
      const place = one.deref();
      if (place) enrich(place);
    }
    this.#waiting.clear();
  }
}

const colours = new Late(() => import("../vendor/highlight.js"));
const formulas = new Late(() => import("../vendor/temml.js"));

/**
 * Draw the code and the formulas in a place.
 * @param {ParentNode} place what stays on the page, for what is loaded later
 * @param {readonly Node[]} [within] the part of it that is new
 */
export function enrich(place, within = [...place.childNodes]) {
  for (const node of within) {
    if (!(node instanceof Element)) continue;
    for (const code of allOf(node, CODE)) colourWith(place, code);
    for (const formula of allOf(node, FORMULA)) drawWith(place, formula);
  }
}

/**
 * @param {Element} node
 * @param {string} selector
 */
const allOf = (node, selector) => [...(node.matches(selector) ? [node] : []), ...node.querySelectorAll(selector)];

/**
 * @param {ParentNode} place
 * @param {Element} code
 */
function colourWith(place, code) {
  if (code.getAttribute("data-language") === "mermaid") return void diagramOf(code);
  const text = code.textContent ?? "";
  const library = text.length <= LONGEST_CODE && !LONG_LINE.test(text) && colours.for(place);
  if (library) attempt(code, () => colour(code, library));
}

/**
 * A diagram is drawn by a module of its own, loaded with the first.
 * @param {Element} code
 */
async function diagramOf(code) {
  code.setAttribute("data-drawn", "");
  const box = code.closest(".code");
  // Where it cannot be loaded, the source stays.
  const module = await import("./diagrams.js").catch(() => null);
  if (box instanceof HTMLElement) module?.drawDiagram(box);
}

/**
 * @param {ParentNode} place
 * @param {Element} formula
 */
function drawWith(place, formula) {
  const library = (formula.textContent ?? "").length <= LONGEST_FORMULA && formulas.for(place);
  if (library) attempt(formula, () => draw(formula, library));
}

/**
 * @param {Element} node
 * @param {() => void} work
 */
function attempt(node, work) {
  node.setAttribute("data-drawn", "");
  try {
    work();
  } catch {
    node.setAttribute("data-drawn", "not");
  }
}

/**
 * @param {Element} code
 * @param {typeof import("../vendor/highlight.js").default} library
 */
function colour(code, library) {
  const language = code.getAttribute("data-language") ?? "";
  if (slow.has(language) || !library.getLanguage(language)) return;
  const text = code.textContent ?? "";
  const began = performance.now();
  const { _emitter } = library.highlight(text, { language, ignoreIllegals: true });
  if (performance.now() - began > PATIENCE) slow.add(language);
  const nodes = _emitter.rootNode.children.flatMap((one) => scoped(one));
  if (nodes.map((one) => one.textContent).join("") === text) code.replaceChildren(...nodes);
}

/**
 * @param {Scoped | string} part
 * @returns {(Node)[]}
 */
function scoped(part) {
  if (typeof part === "string") return [document.createTextNode(part)];
  const children = part.children.flatMap((one) => scoped(one));
  const hue = HUES.find(([words]) => words.test(part.scope ?? ""))?.[1];
  return hue ? [h("span", { class: hue }, ...children)] : children;
}

/**
 * @param {Element} node holds the source
 * @param {typeof import("../vendor/temml.js").default} library
 */
function draw(node, library) {
  const isOwn = node.matches(".own");
  const options = { displayMode: isOwn, throwOnError: true, trust: false, maxExpand: 200, maxSize: [20, 100] };
  const [math, ...more] = drawn(library.__renderToMathMLTree(node.textContent ?? "", options));
  if (!(math instanceof Element) || math.localName !== "math" || more.length > 0) return;
  if (isOwn) {
    node.setAttribute("tabindex", "0");
    node.setAttribute("role", "group");
    node.setAttribute("aria-label", "Formula");
  }
  node.replaceChildren(math);
}

/**
 * @param {MathTree} tree
 * @returns {Node[]}
 */
function drawn(tree) {
  if (typeof tree.text === "string") return [document.createTextNode(tree.text)];
  const children = (tree.children ?? []).flatMap((one) => drawn(one));
  if (!tree.type || !ELEMENTS.has(tree.type)) return children;
  const node = /** @type {MathMLElement} */ (document.createElementNS(NS, tree.type));
  for (const [name, value] of Object.entries(tree.attributes ?? {})) {
    if (ATTRIBUTES.has(name) && VALUE.test(String(value))) node.setAttribute(name, String(value));
  }
  for (const [name, value] of Object.entries(tree.style ?? {})) {
    const property = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    // Set one by one: the policy of the page allows no style that comes as text.
    if (STYLES.has(property) && VALUE.test(String(value))) node.style.setProperty(property, String(value));
  }
  const classes = (tree.classes ?? []).filter((one) => CLASSES.test(one));
  if (classes.length > 0) node.setAttribute("class", classes.join(" "));
  node.append(...children);
  return [node];
}
