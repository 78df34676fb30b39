/**
 * The colour scheme, set before the first paint: a classic script in the head, not a module.
 *
 *     <html data-theme="dark">     as the person chose; without it the system decides
 */
(() => {
  try {
    const chosen = localStorage.getItem("callblocks.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A browser that keeps nothing follows the system.
  }
})();
