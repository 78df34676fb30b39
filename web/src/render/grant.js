/**
 * What let a call through without a question: a grant, as long as it lasts, and the way to end it.
 *
 *     allowed by your 10-minute grant, 7:12 left · Revoke
 *     allowed by your 10-minute grant, revoked
 *     allowed by your 10-minute grant, since expired
 *
 *     callblocks-revoke   {approval: {id}}
 *
 * @module
 */

import { h } from "../dom.js";
import { count, minutes as clock, secondsSince } from "./clock.js";

/** @typedef {import("../types.js").Grant} Grant */

/**
 * @param {Grant} grant
 * @param {import("./host.js").Host} host
 */
export function grantWords(grant, host) {
  const lead = `allowed by your ${grant.minutes}-minute grant, `;
  const node = h("span", { class: "verdict" }, lead);
  const left = () => -secondsSince(grant.expiresAt * 1000, true);
  if (host.revoked(grant.id)) node.append("revoked");
  else if (left() <= 0) node.append("since expired");
  else {
    const time = h("span", { class: "num" });
    const revoke = h("button", { type: "button", class: "link" }, "Revoke");
    revoke.addEventListener("click", () => host.emit("callblocks-revoke", { approval: { id: grant.id } }));
    node.append(time, " · ", revoke);
    count(time, () => {
      const seconds = left();
      if (seconds > 0) return `${clock(seconds)} left`;
      node.replaceChildren(lead, "since expired");
      return "";
    });
  }
  return node;
}
