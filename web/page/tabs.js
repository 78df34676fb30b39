/**
 * Tabs by the keyboard: arrows, Home and End; one of them is reached with Tab.
 *
 *     tabs(tablist, (id) => …)     id is that of the panel that is shown now
 */

/**
 * @param {HTMLElement} list with role tablist
 * @param {(panel: string) => void} [shown]
 * @returns {(panel: string) => void} shows a panel
 */
export function tabs(list, shown) {
  const all = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[role=tab]")]);
  const show = (/** @type {HTMLElement} */ tab) => {
    for (const one of all) choose(one, one === tab);
    shown?.(panelOf(tab));
  };
  list.addEventListener("click", (event) => {
    const tab = all.find((one) => one.contains(/** @type {Node} */ (event.target)));
    if (tab) show(tab);
  });
  list.addEventListener("keydown", (event) => {
    const next = neighbour(all, event);
    if (!next) return;
    event.preventDefault();
    show(next);
    next.focus();
  });
  return (panel) => {
    const tab = all.find((one) => panelOf(one) === panel);
    if (tab) show(tab);
  };
}

/** @param {HTMLElement} tab */
const panelOf = (tab) => tab.getAttribute("aria-controls") ?? "";

/**
 * @param {HTMLElement[]} all
 * @param {KeyboardEvent} event
 */
function neighbour(all, event) {
  const at = all.indexOf(/** @type {HTMLElement} */ (event.target));
  if (at < 0) return undefined;
  switch (event.key) {
    case "ArrowRight":
      return all[(at + 1) % all.length];
    case "ArrowLeft":
      return all.at(at - 1);
    case "Home":
      return all[0];
    case "End":
      return all.at(-1);
    default:
      return undefined;
  }
}

/**
 * @param {HTMLElement} tab
 * @param {boolean} isChosen
 */
function choose(tab, isChosen) {
  tab.setAttribute("aria-selected", String(isChosen));
  tab.tabIndex = isChosen ? 0 : -1;
  const panel = document.getElementById(panelOf(tab));
  if (panel) panel.hidden = !isChosen;
}
