/**
 * A file that a call made: a picture of it, its name, size and path, and what can be done.
 *
 *     callblocks-open   {artifact, how: "preview" | "download"}
 *
 * @module
 */

import { sizeText } from "../display.js";
import { h } from "../dom.js";
import { fileHref, visibleLine } from "../safe.js";
import { opens } from "./host.js";
import { kindOf, thumbOf } from "./thumb.js";

/** @typedef {import("../types.js").ArtifactSection} ArtifactSection */
/** @typedef {import("../types.js").Artifact} Artifact */
/** @typedef {import("./host.js").Host} Host */

/**
 * @param {ArtifactSection} first
 * @param {Host} host
 * @returns {import("../dom.js").View<ArtifactSection>}
 */
export function artifactView(first, host) {
  const node = h("section", { class: "artifact" });
  let said = "";
  return {
    node,
    update({ artifact }) {
      const now = JSON.stringify([artifact, host.artifactHref(artifact)]);
      if (now === said) return;
      said = now;
      node.setAttribute("aria-label", `Artifact ${visibleLine(artifact.name)}`);
      node.replaceChildren(...draw(artifact, host));
    },
  };
}

/**
 * @param {Artifact} artifact
 * @param {Host} host
 */
function draw(artifact, host) {
  const name = visibleLine(artifact.name);
  const href = fileHref(host.artifactHref(artifact));
  const kind = kindOf(artifact.mime, artifact.name);
  const size = Number.isFinite(artifact.size) ? sizeText(artifact.size) : "";
  const about = h(
    "div",
    { class: "artifact-text" },
    h("div", { class: "artifact-name" }, name),
    h("div", { class: "artifact-meta" }, [kind.label, size].filter(Boolean).join(" · ")),
    !isStored(artifact) && h("div", { class: "artifact-path" }, visibleLine(artifact.path)),
  );
  const thumb = thumbOf(kind, artifact, href, host);
  return href ? [thumb, about, actions(artifact, name, href, host)] : [thumb, about];
}

/**
 * Whether the path is where the store keeps the file: its digest, which tells nobody anything.
 * @param {Artifact} artifact
 */
const isStored = ({ path, digest }) => path.includes(digest);

/**
 * @param {Artifact} artifact
 * @param {string} name
 * @param {string} href
 * @param {Host} host
 */
function actions(artifact, name, href, host) {
  const look = h(
    "a",
    { class: "btn", href, target: "_blank", rel: "noopener", "aria-label": `Preview ${name}` },
    "Preview",
  );
  const save = h("a", { class: "btn", href, download: name, "aria-label": `Download ${name}` }, "Download");
  opens(look, host, () => ({ artifact, href, how: "preview" }));
  opens(save, host, () => ({ artifact, href, how: "download" }));
  // A browser shows no page of a data address; only saving it is left.
  return h("div", { class: "artifact-do" }, !href.startsWith("data:") && look, save);
}
