/** The focus after a navigation: on the title of the new page, which may still be read. */

let isAwaited = false;

/** Moves the focus to the title, now or once there is one. */
export function focusTitle(): void {
  const title = document.getElementById("title");
  isAwaited = title === null;
  title?.focus({ preventScroll: true });
}

/** Moves the focus to the title that has just been shown, if it is awaited. */
export function focusAwaitedTitle(): void {
  if (isAwaited) focusTitle();
}
