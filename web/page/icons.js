/**
 * The few pictures of the pages, as nodes. They say nothing: the words stand beside them.
 *
 *     icon("menu")
 */

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {[tag: string, attributes: Record<string, string>]} Shape */

const STROKE = { fill: "none", stroke: "currentColor", "stroke-width": "1.5", "stroke-linecap": "round", "stroke-linejoin": "round" };

/** @type {Record<string, {size: number, shapes: Shape[]}>} */
const ICONS = {
  brand: {
    size: 18,
    shapes: [
      ["rect", { x: "1", y: "2", width: "10", height: "4", rx: "1.5", fill: "currentColor" }],
      ["rect", { x: "4", y: "7", width: "13", height: "4", rx: "1.5", fill: "currentColor", opacity: ".55" }],
      ["rect", { x: "4", y: "12", width: "8", height: "4", rx: "1.5", fill: "currentColor" }],
    ],
  },
  more: {
    size: 16,
    shapes: ["3.5", "8", "12.5"].map((cx) => ["circle", { cx, cy: "8", r: "1.25", fill: "currentColor" }]),
  },
  menu: { size: 16, shapes: [["path", { d: "M2 4.5h12M2 8h12M2 11.5h12", ...STROKE }]] },
  system: {
    size: 16,
    shapes: [
      ["circle", { cx: "8", cy: "8", r: "5.25", ...STROKE }],
      ["path", { d: "M8 2.75a5.25 5.25 0 0 1 0 10.5z", fill: "currentColor" }],
    ],
  },
  light: {
    size: 16,
    shapes: [
      ["circle", { cx: "8", cy: "8", r: "2.75", ...STROKE }],
      ["path", { d: "M8 1.5v1.25M8 13.25v1.25M1.5 8h1.25M13.25 8h1.25M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9", ...STROKE }],
    ],
  },
  dark: { size: 16, shapes: [["path", { d: "M13 9.7A5.5 5.5 0 0 1 6.3 3a5.5 5.5 0 1 0 6.7 6.7z", ...STROKE }]] },
  clip: {
    size: 16,
    shapes: [["path", { d: "M13.5 7.5 8 13a3.2 3.2 0 0 1-4.5-4.5l6-6a2.1 2.1 0 0 1 3 3l-5.8 5.8a1 1 0 0 1-1.5-1.5L10 5", ...STROKE }]],
  },
  stop: { size: 10, shapes: [["rect", { width: "10", height: "10", rx: "2", fill: "currentColor" }]] },
  send: { size: 16, shapes: [["path", { d: "M8 13V3.5M3.75 7.25 8 3l4.25 4.25", ...STROKE }]] },
  close: { size: 16, shapes: [["path", { d: "m4 4 8 8M12 4l-8 8", ...STROKE }]] },
  down: { size: 16, shapes: [["path", { d: "M8 3v9.5M3.75 8.75 8 13l4.25-4.25", ...STROKE }]] },
};

/**
 * @param {string} name
 * @returns {SVGElement}
 */
export function icon(name) {
  const { size, shapes } = ICONS[name] ?? { size: 16, shapes: [] };
  const svg = document.createElementNS(SVG, "svg");
  const own = { width: size, height: size, viewBox: `0 0 ${size} ${size}`, "aria-hidden": "true" };
  for (const [key, value] of Object.entries(own)) svg.setAttribute(key, String(value));
  for (const [tag, attributes] of shapes) {
    const shape = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
    svg.append(shape);
  }
  return svg;
}
