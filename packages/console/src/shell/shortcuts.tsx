/** The keyboard: what each key does, and the page that says so. */
import { Modal } from "@mantine/core";
import { useEffect, useState } from "react";
import { openPalette } from "./palette.tsx";
import styles from "./shortcuts.module.css";

const keys = [
  ["⌘ K or Ctrl K", "Search, and go to a page"],
  ["/", "Filter the list"],
  ["j, k", "Next and previous row"],
  ["o", "Open the row"],
  ["?", "These keys"],
  ["Esc", "Close"],
] as const;

const opening = new EventTarget();

/** Shows the keys. */
export function openKeys(): void {
  opening.dispatchEvent(new Event("open"));
}

/** Listens to the keyboard, and shows the keys. */
export function Shortcuts() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const open = () => setOpen(true);
    opening.addEventListener("open", open);
    document.addEventListener("keydown", onKey);
    return () => {
      opening.removeEventListener("open", open);
      document.removeEventListener("keydown", onKey);
    };
  }, []);
  return (
    <Modal opened={isOpen} onClose={() => setOpen(false)} title="Keyboard shortcuts" size="sm">
      <dl className={styles.keys}>
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}

const typing = "input, textarea, select, [contenteditable]";

function onKey(event: KeyboardEvent): void {
  if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
    return;
  }
  const target = event.target as Element | null;
  const isTyping = target?.closest(typing) || target?.closest("[role=dialog]");
  if (isTyping || event.metaKey || event.ctrlKey || event.altKey) return;
  const act = acts[event.key];
  if (act === undefined) return;
  event.preventDefault();
  act();
}

const acts: Readonly<Record<string, () => void>> = {
  "/": () => {
    const field = document.querySelector<HTMLElement>("[data-filter-field]");
    if (field) field.focus();
    else openPalette();
  },
  "?": openKeys,
  j: () => moveBy(1),
  k: () => moveBy(-1),
  o: () => (document.activeElement as HTMLElement | null)?.click(),
};

/** Moves the focus among the links of rows. */
function moveBy(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("[data-row-link]")];
  const at = links.indexOf(document.activeElement as HTMLElement);
  const next = at === -1 ? (step === 1 ? 0 : links.length - 1) : at + step;
  links[Math.min(Math.max(next, 0), links.length - 1)]?.focus();
}
