/**
 * A file that the person gave: its name, and the picture if it is one.
 *
 *     callblocks-open   {file, how: "preview"}
 *
 * @module
 */

import { sizeText } from "../display.js";
import { h } from "../dom.js";
import { fileHref, visible, visibleLine } from "../safe.js";
import { opens } from "./host.js";
import { kindOf, thumbOf } from "./thumb.js";

/** @typedef {import("../types.js").FileSection} FileSection */

/**
 * @param {FileSection} first
 * @param {import("./host.js").Host} host
 * @returns {import("../dom.js").View<FileSection>}
 */
export function fileView(first, host) {
  const node = h("div", { class: "file" });
  let said = "";
  return {
    node,
    update({ file }) {
      const now = JSON.stringify(file);
      if (now === said) return;
      said = now;
      const href = fileHref(file.url);
      const kind = kindOf(file.mime, file.name);
      const size = file.size === undefined ? kind.label : `${kind.label} · ${sizeText(file.size)}`;
      const about = h(
        "span",
        { class: "artifact-text" },
        nameOf(file, href, host),
        h("span", { class: "artifact-meta" }, size),
      );
      node.replaceChildren(thumbOf(kind, file, href, host), about);
      if (file.text) node.append(contentOf(file.text));
    },
  };
}

/** @param {string} text of a recorded file */
function contentOf(text) {
  const content = h("pre", { class: "reasoning-text" }, visible(text));
  return h("details", { class: "reasoning" }, h("summary", {}, "content"), content);
}

/**
 * @param {import("../types.js").FileRef} file
 * @param {string} href
 * @param {import("./host.js").Host} host
 */
function nameOf(file, href, host) {
  const name = visibleLine(file.name) || "file";
  if (!href) return h("span", { class: "artifact-name" }, name);
  const isData = href.startsWith("data:");
  const way = isData ? { download: name } : { target: "_blank", rel: "noopener" };
  const link = h("a", { class: "artifact-name", href, ...way }, name);
  opens(link, host, () => ({ file, href, how: isData ? "download" : "preview" }));
  return link;
}
