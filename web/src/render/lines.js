/**
 * What is said in one line: who of a team speaks, what could not be read, how a turn ended.
 *
 * @module
 */

import { h, set } from "../dom.js";
import { outsideHref, visible, visibleLine } from "../safe.js";

/** @typedef {import("../types.js").Section} Section */

/**
 * A view that is drawn anew when what it shows changed.
 * @template T
 * @param {string} kind the class
 * @param {(value: T, node: HTMLElement) => (Node | string)[]} draw
 * @returns {import("../dom.js").View<T>}
 */
function line(kind, draw) {
  const node = h("p", { class: kind });
  let said = "";
  return {
    node,
    update(value) {
      const now = JSON.stringify(value);
      if (now === said) return;
      said = now;
      node.replaceChildren(...draw(value, node));
    },
  };
}

/** @returns {import("../dom.js").View<import("../types.js").MemberSection>} */
export const memberView = () =>
  line("member", ({ name, status, message }, node) => {
    set(node, "data-status", status);
    const why = visibleLine(message);
    const state = status === "answered" ? "" : why ? `${visibleLine(status)}: ${why}` : visibleLine(status);
    const said = [h("b", {}, visibleLine(name))];
    return state ? [...said, " ", h("span", {}, state)] : said;
  });

/** @returns {import("../dom.js").View<import("../types.js").ProblemSection>} */
export const problemView = () =>
  line("problem", ({ code, detail }) => [
    h("code", {}, visibleLine(code)),
    " ",
    h("span", {}, visible(detail)),
  ]);

/** @returns {import("../dom.js").View<import("../types.js").Ending>} */
export const endingView = () =>
  line("ending", ({ status, text }, node) => {
    set(node, "data-status", status);
    return [visible(text)];
  });

/** @returns {import("../dom.js").View<import("../types.js").SourceSection>} */
export const sourceView = () =>
  line("source", ({ title, url }) => {
    const href = outsideHref(url);
    const words = visibleLine(title || url);
    if (!href) return [words];
    const to = { href, target: "_blank", rel: "noopener noreferrer nofollow", title: visibleLine(href) };
    return [h("a", to, words)];
  });

/** @returns {import("../dom.js").View<import("../types.js").Other>} */
export const otherView = () =>
  line("other", ({ type, text }) => [h("code", {}, visibleLine(type)), " ", visible(text)]);
