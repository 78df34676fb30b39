/**
 * Elements made and kept: no markup, only nodes.
 *
 *     h("p", {class: "call-line"}, "text", h("b", {}, "more"))
 *     keyed(list, calls, (call) => call.id, make)
 *
 * A view is a node with a way to bring it up to date: `{node, update(value)}`. What did not
 * change is not touched, and nothing is moved that already stands in its place, so focus,
 * selection and scroll survive.
 *
 * @module
 */

/** @typedef {string | number | boolean | null | undefined | ((event: any) => void)} Prop */
/** @typedef {Node | string | null | undefined | false} Child */

/**
 * A view of a value.
 * @template T
 * @typedef {{node: HTMLElement, update: (value: T) => void, drop?: () => void}} View
 */

/**
 * Make an element. `class` and attributes by name, `on…` for listeners; false and null are left
 * out. Addresses come here only from `safe.js`.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, Prop>} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(node, name, value);
  for (const child of children) if (child) node.append(child);
  return node;
}

/**
 * Set an attribute, or take it away; a listener is added.
 * @param {Element} node
 * @param {string} name
 * @param {Prop} value
 */
export function set(node, name, value) {
  if (typeof value === "function") node.addEventListener(name.slice(2), value);
  else if (value === false || value === null || value === undefined) node.removeAttribute(name);
  else {
    const text = value === true ? "" : String(value);
    if (node.getAttribute(name) !== text) node.setAttribute(name, text);
  }
}

/**
 * Set the text of a node, without touching it if it says that already. Text that only grew is
 * added to, so that what is selected in it stays selected.
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  const held = node.firstChild;
  if (held === null || node.childNodes.length !== 1 || !(held instanceof Text)) {
    if (node.textContent !== text) node.textContent = text;
  } else if (held.data !== text) {
    if (text.startsWith(held.data)) held.appendData(text.slice(held.data.length));
    else held.data = text;
  }
}

/**
 * Bring the views in a parent in line with items, in their order.
 * @template T
 * @param {Element} parent
 * @param {Map<string, View<T>>} views kept from one time to the next
 * @param {readonly T[]} items
 * @param {(item: T, at: number) => string} keyOf
 * @param {(item: T) => View<T>} make a view that shows nothing yet; `update` follows
 */
export function keyed(parent, views, items, keyOf, make) {
  const keys = items.map(keyOf);
  const wanted = new Set(keys);
  for (const [key, view] of views) {
    if (wanted.has(key)) continue;
    view.drop?.();
    view.node.remove();
    views.delete(key);
  }
  let next = parent.firstElementChild;
  items.forEach((item, at) => {
    const key = keys[at] ?? "";
    const view = views.get(key) ?? make(item);
    views.set(key, view);
    view.update(item);
    if (view.node === next) next = next.nextElementSibling;
    else parent.insertBefore(view.node, next);
  });
}
