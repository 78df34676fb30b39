/**
 * Files dropped anywhere on the page, and pasted into it. While files are dragged over the page,
 * the place to drop them lies over all of it.
 */

/**
 * @param {HTMLElement} cover shown while files are over the page
 * @param {(files: FileList) => void} take
 */
export function acceptFiles(cover, take) {
  const show = (/** @type {boolean} */ isOver) => {
    cover.hidden = !isOver;
  };
  addEventListener("dragenter", (event) => hasFiles(event) && show(true));
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    if (event.dataTransfer) event.dataTransfer.dropEffect = "copy";
  });
  // Leaving the window has no target that is entered.
  addEventListener("dragleave", (event) => event.relatedTarget === null && show(false));
  addEventListener("dragend", () => show(false));
  addEventListener("drop", (event) => {
    show(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    if (event.dataTransfer?.files.length) take(event.dataTransfer.files);
  });
  addEventListener("paste", (event) => {
    const files = event.clipboardData?.files;
    // Text with a picture of itself, as office programs give, is text.
    if (!files?.length || event.clipboardData?.types.includes("text/plain")) return;
    event.preventDefault();
    take(files);
  });
}

/** @param {DragEvent} event */
function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}
