/**
 * Make a node like another one, changing as little as can be: what is the same stays the same
 * node, with its focus, its selection and how far it was scrolled.
 *
 * @module
 */

/**
 * @param {ChildNode} held stands on the page
 * @param {ChildNode} fresh what it should be; is used up
 * @returns {ChildNode} what stands on the page now
 */
export function morph(held, fresh) {
  if (held.nodeName !== fresh.nodeName) {
    held.replaceWith(fresh);
    return fresh;
  }
  if (held instanceof Text && fresh instanceof Text) morphText(held, fresh.data);
  if (held instanceof Element && fresh instanceof Element) {
    morphAttributes(held, fresh);
    morphChildren(held, fresh);
  }
  return held;
}

/**
 * @param {Text} held
 * @param {string} text
 */
function morphText(held, text) {
  if (held.data === text) return;
  if (text.startsWith(held.data)) held.appendData(text.slice(held.data.length));
  else held.data = text;
}

/**
 * @param {Element} held
 * @param {Element} fresh
 */
function morphAttributes(held, fresh) {
  for (const name of held.getAttributeNames()) {
    if (!fresh.hasAttribute(name)) held.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (held.getAttribute(name) !== value) held.setAttribute(name, value);
  }
}

/**
 * @param {Element} held
 * @param {Element} fresh
 */
function morphChildren(held, fresh) {
  const wanted = [...fresh.childNodes];
  const there = [...held.childNodes];
  wanted.forEach((child, at) => {
    const old = there[at];
    if (old) morph(old, child);
    else held.append(child);
  });
  for (const gone of there.slice(wanted.length)) gone.remove();
}
