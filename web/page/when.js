/**
 * Times in a list, as short as they are clear: `11:20` today and yesterday, `3 Nov` before.
 */

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

/**
 * The heading that a time stands under.
 * @param {Date} then
 * @param {Date} [now]
 * @returns {"Today" | "Yesterday" | "Earlier"}
 */
export function dayOf(then, now = new Date()) {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  const before = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  if (then >= midnight) return "Today";
  return then >= before ? "Yesterday" : "Earlier";
}

/**
 * @param {Date} then
 * @param {Date} [now]
 */
export function shortTime(then, now = new Date()) {
  if (Number.isNaN(then.getTime())) return "";
  if (dayOf(then, now) !== "Earlier") return TIME.format(then);
  return (then.getFullYear() === now.getFullYear() ? DAY : YEAR).format(then);
}

/**
 * The time of day; "" for what is none.
 * @param {Date} then
 */
export function clock(then) {
  return Number.isNaN(then.getTime()) ? "" : TIME.format(then);
}
