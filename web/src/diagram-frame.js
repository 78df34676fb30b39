/**
 * Draws diagrams for the page around it, in a frame of its own: no script of ours shares an origin with
 * what Mermaid makes of a stranger's text, and nothing can be loaded here.
 *
 *     {id, text, look}   →   {id, svg, width, height} or {id, fault}
 *
 * The frame is sandboxed, so its origin is opaque and `*` is the only address that it can answer to; it tells
 * nobody anything but what it was sent.
 */

/** @type {any} */
const { mermaid } = globalThis;
let last = Promise.resolve();

globalThis.addEventListener?.("message", ({ source, data }) => {
  if (source !== parent) return;
  last = last.then(() => draw(data)).then((answer) => parent.postMessage({ id: data.id, ...answer }, "*"));
});
globalThis.parent?.postMessage({ isReady: true }, "*");

/** @param {{id: number, text: string, look: {dark: boolean, colours: Record<string, string>, font: string}}} asked */
async function draw({ id, text, look }) {
  try {
    mermaid.initialize({
      startOnLoad: false,
      securityLevel: "strict",
      suppressErrorRendering: true,
      htmlLabels: false,
      flowchart: { htmlLabels: false, useMaxWidth: false },
      ...Object.fromEntries(["sequence", "class", "state", "er", "gantt", "journey", "timeline", "xyChart", "quadrantChart"].map((one) => [one, { useMaxWidth: false }])),
      maxTextSize: 20_000,
      maxEdges: 500,
      theme: "base",
      themeVariables: { darkMode: look.dark, ...look.colours, fontFamily: look.font, fontSize: "14px" },
      fontFamily: look.font,
      // What a text may not change by a directive of its own.
      secure: ["secure", "securityLevel", "startOnLoad", "maxTextSize", "maxEdges", "suppressErrorRendering", "htmlLabels", "themeCSS", "fontFamily", "theme", "themeVariables"],
    });
    const { svg } = await mermaid.render(`d${id}`, text);
    const drawn = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    if (drawn.localName !== "svg") return { fault: "the picture cannot be read" };
    const [, , width = 0, height = 0] = (drawn.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
    drawn.removeAttribute("style");
    drawn.setAttribute("width", String(Math.ceil(width)));
    drawn.setAttribute("height", String(Math.ceil(height)));
    return { svg: new XMLSerializer().serializeToString(drawn), width: Math.ceil(width), height: Math.ceil(height) };
  } catch (error) {
    document.body.replaceChildren();
    return { fault: String(/** @type {Error} */ (error)?.message ?? error).slice(0, 300) };
  }
}
