/**
 * Diagrams of Mermaid, drawn in a frame apart and shown as pictures.
 *
 *     drawDiagram(box)             `.code` with `code[data-language=mermaid]`, which is settled
 *
 * Mermaid reads a stranger's text and writes markup, styles and sizes. It does so in one hidden frame that is
 * sandboxed: of no origin, without network. What comes back is an SVG, which is shown by `<img>`: as a picture it
 * runs nothing and loads nothing. The source stays, one press away; what cannot be drawn stays as its source,
 * with one line that says why. A diagram that takes too long ends the frame, and the next one begins another.
 *
 * @module
 */

import { h } from "./dom.js";
import { visibleLine } from "./safe.js";
import { t } from "./words.js";

const LONGEST = 20_000;
const PATIENCE = 8000;
const FIRST_PATIENCE = 30_000;
const WIDEST = 8000;
const FRAME = new URL("./diagram.html", import.meta.url);
const SCRIPTS = ["../vendor/mermaid.js", "./diagram-frame.js"];
const LOOK = {
  background: "--sunken", primaryColor: "--block", primaryTextColor: "--text", primaryBorderColor: "--control",
  lineColor: "--text-2", secondaryColor: "--accent-tint", tertiaryColor: "--sunken", textColor: "--text",
  noteBkgColor: "--well", noteTextColor: "--text", noteBorderColor: "--line", edgeLabelBackground: "--sunken",
  actorBkg: "--block", actorBorder: "--control", signalColor: "--text-2", signalTextColor: "--text",
};

/** @typedef {{svg?: string, width?: number, height?: number, fault?: string}} Answer */
/** @typedef {{box: HTMLElement, text: string}} Drawing */

/** The frame, and what waits for its answers. @type {{node: HTMLIFrameElement, ready: Promise<boolean>} | null} */
let frame = null;
/** @type {Map<number, (answer: Answer) => void>} */
const waiting = new Map();
let count = 0;
let last = Promise.resolve();
/** What is drawn again in other colours. @type {Set<WeakRef<HTMLElement>>} */
const drawnBoxes = new Set();

/** @param {HTMLElement} box */
export function drawDiagram(box) {
  const text = box.querySelector("code")?.textContent ?? "";
  if (!text.trim()) return;
  if (text.length > LONGEST) return tell(box, t("too long to be drawn"));
  box.dataset.diagram = "waits";
  // One after the other: a frame draws one at a time.
  last = last.then(() => drawNow(box, text)).catch(() => tell(box, t("it was not drawn")));
}

/**
 * @param {HTMLElement} box
 * @param {string} text
 */
async function drawNow(box, text) {
  if (!box.isConnected) return;
  const answer = await asked(text, lookOf(box));
  if (answer.svg) show(box, answer);
  else tell(box, visibleLine(answer.fault ?? ""));
}

/**
 * @param {string} text
 * @param {object} look
 * @returns {Promise<Answer>}
 */
async function asked(text, look) {
  frame ??= begin();
  const { node, ready } = frame;
  if (!(await ready)) return over(t("the frame for diagrams cannot be loaded here"));
  const id = (count += 1);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(over(t("it took too long"))), PATIENCE);
    waiting.set(id, (answer) => (clearTimeout(timer), resolve(answer)));
    node.contentWindow?.postMessage({ id, text, look }, "*");
  });
}

/** @param {string} fault */
function over(fault) {
  frame?.node.remove();
  frame = null;
  waiting.clear();
  return { fault };
}

function begin() {
  const node = h("iframe", { sandbox: "allow-scripts", src: FRAME.href, title: "Diagrams", tabindex: "-1", "aria-hidden": "true" });
  // It has a size, for what is not laid out cannot be measured.
  const place = { position: "fixed", left: "-4000px", top: "0", width: "1200px", height: "800px", border: "0", visibility: "hidden" };
  for (const [name, value] of Object.entries(place)) node.style.setProperty(name, value);
  /** @type {Promise<boolean>} */
  const ready = new Promise((resolve) => {
    setTimeout(() => resolve(false), FIRST_PATIENCE);
    let isOpen = false;
    // What was loaded in its place, if it says nothing, is some page.
    node.addEventListener("load", () => setTimeout(() => isOpen || resolve(false), 500));
    addEventListener("message", ({ source, data }) => {
      if (source !== node.contentWindow || typeof data !== "object" || !data) return;
      if (data.isOpen) {
        isOpen = true;
        void handScripts(node).catch(() => resolve(false));
      }
      if (data.isReady) resolve(true);
      waiting.get(data.id)?.(data);
      waiting.delete(data.id);
    });
  });
  document.body.append(node);
  return { node, ready };
}

/**
 * The frame may load nothing: its scripts are handed to it.
 * @param {HTMLIFrameElement} node
 */
async function handScripts(node) {
  const files = await Promise.all(SCRIPTS.map((one) => fetch(new URL(one, import.meta.url))));
  if (files.some((one) => !one.ok)) throw new Error("a script is missing");
  node.contentWindow?.postMessage({ scripts: await Promise.all(files.map((one) => one.text())) }, "*");
}

/** @param {Element} box */
function lookOf(box) {
  const style = getComputedStyle(box);
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colours = Object.fromEntries(Object.entries(LOOK).map(([name, token]) => [name, plain(box, token, pen)]));
  return { dark: style.colorScheme === "dark" || isDark(colours.background ?? ""), colours, font: style.getPropertyValue("--sans") || "sans-serif" };
}

/**
 * A token as `#rrggbb`, which is all that Mermaid reads.
 * @param {Element} box
 * @param {string} token
 * @param {CanvasRenderingContext2D | null} pen
 */
function plain(box, token, pen) {
  const probe = h("i", {});
  probe.style.setProperty("color", `var(${token})`);
  box.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  if (!pen) return colour;
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  return `#${[...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)].map((one) => one.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {string} colour */
const isDark = (colour) => Number.parseInt(colour.slice(1, 3), 16) < 128;

/**
 * @param {HTMLElement} box
 * @param {Answer} answer
 */
function show(box, { svg = "", width = 0, height = 0 }) {
  const pre = box.querySelector("pre");
  if (!pre || !(width > 0 && height > 0)) return tell(box, t("it is empty"));
  const label = `${t("Diagram")}: ${firstLine(pre)}`;
  const picture = h("img", { src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`, alt: label, width: String(Math.min(width, WIDEST)), height: String(Math.min(height, WIDEST)) });
  const place = h("div", { class: "diagram", tabindex: "0", role: "group", "aria-label": label }, picture);
  const isOpen = box.dataset.diagram === "source";
  box.querySelector(".diagram")?.remove();
  pre.before(place);
  if (!box.querySelector(".source-of")) box.querySelector(".code-head")?.lastElementChild?.before(switchOf(box));
  box.querySelector(".diagram-fault")?.remove();
  turn(box, isOpen);
  drawnBoxes.add(new WeakRef(box));
  watchLook();
}

/** @param {HTMLElement} box */
function switchOf(box) {
  const button = h("button", { type: "button", class: "btn source-of", "data-kind": "quiet", "aria-pressed": "false" }, t("Source"));
  button.addEventListener("click", () => turn(box, box.dataset.diagram !== "source"));
  return button;
}

/**
 * Show the source, or the picture.
 * @param {HTMLElement} box
 * @param {boolean} isSource
 */
function turn(box, isSource) {
  box.dataset.diagram = isSource ? "source" : "drawn";
  for (const node of box.querySelectorAll("pre")) node.hidden = !isSource;
  for (const node of /** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll(".diagram"))) node.hidden = isSource;
  box.querySelector(".source-of")?.setAttribute("aria-pressed", String(isSource));
}

/** @param {Element} pre */
const firstLine = (pre) => visibleLine((pre.textContent ?? "").trim().split("\n", 1)[0] ?? "").slice(0, 80);

/**
 * Why a diagram stays its source.
 * @param {HTMLElement} box
 * @param {string} why
 */
function tell(box, why) {
  box.dataset.diagram = "not";
  box.querySelector(".diagram-fault")?.remove();
  const line = why.replace(/\s+/g, " ").slice(0, 200);
  box.append(h("p", { class: "diagram-fault" }, `${t("Not drawn")}: ${line}`));
}

let watches = false;

/** Draw all of them again when the page turns dark, or light. */
function watchLook() {
  if (watches) return;
  watches = true;
  const again = () => {
    for (const one of drawnBoxes) {
      const box = one.deref();
      drawnBoxes.delete(one);
      const text = box?.querySelector("code")?.textContent ?? "";
      if (box?.isConnected) last = last.then(() => drawNow(box, text));
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}
