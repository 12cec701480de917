/** The palette: finds a page, or an object by its name, number, code or id. */
import { Modal, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useOrganisation } from "../data/organisation.tsx";
import { Icon, type IconName } from "../design/icons.tsx";
import frame from "./frame.module.css";
import { navigation } from "./navigation.ts";
import { useFound } from "./search.ts";
import styles from "./shortcuts.module.css";

const opening = new EventTarget();

/** Opens the palette. */
export function openPalette(): void {
  opening.dispatchEvent(new Event("open"));
}

/** A place that the palette leads to, below the organisation. */
export interface Place {
  readonly path: string;
  readonly search?: Readonly<Record<string, string>>;
  readonly label: string;
  readonly kind: string;
  readonly icon: IconName;
}

const isMac = /Mac|iP/.test(navigator.userAgent);

/** The field in the head that opens the palette. */
export function PaletteButton() {
  return (
    <button type="button" className={frame.search} onClick={openPalette}>
      <Icon name="search" />
      <span>Search</span>
      <kbd>{isMac ? "⌘K" : "Ctrl K"}</kbd>
    </button>
  );
}

/** The palette of an organisation's pages. */
export function Palette() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const open = () => setOpen(true);
    opening.addEventListener("open", open);
    return () => opening.removeEventListener("open", open);
  }, []);
  return (
    <Modal opened={isOpen} onClose={() => setOpen(false)} title="Search" size="lg" yOffset="10vh">
      <Finder onClose={() => setOpen(false)} />
    </Modal>
  );
}

function Finder({ onClose }: { readonly onClose: () => void }) {
  const { id } = useOrganisation();
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const found = useFound(text);
  // The list is offered once it is known what else there is, so that Enter does not go there first.
  const lists = found === undefined ? [] : customersWith(text);
  const places = [...[...(found ?? []), ...pagesWith(text)].slice(0, 11), ...lists];
  const go = (place: Place | undefined) => {
    if (place === undefined) return;
    onClose();
    void navigate({ to: `/o/${id}/${place.path}`, search: place.search ?? {} });
  };
  const move = (step: number) => setAt((at + step + places.length) % Math.max(places.length, 1));
  return (
    <>
      <TextInput
        data-autofocus
        aria-label="Search"
        placeholder="A customer, number, label, id or page"
        value={text}
        role="combobox"
        aria-expanded
        aria-controls="places"
        aria-activedescendant={`place-${at}`}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") move(1);
          else if (event.key === "ArrowUp") move(-1);
          else if (event.key === "Enter") go(places[at]);
          else return;
          event.preventDefault();
        }}
      />
      <div id="places" role="listbox" aria-label="Found" className={styles.results}>
        {places.map((place, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keyboard
          <div
            key={`${place.kind} ${place.path}`}
            id={`place-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            className={`${styles.result} ${index === at ? styles.current : ""}`}
            onClick={() => go(place)}
          >
            <Icon name={place.icon} />
            <span>{place.label}</span>
            <small>{place.kind}</small>
          </div>
        ))}
      </div>
    </>
  );
}

/** The list finds names, of which the search has no index. */
function customersWith(text: string): readonly Place[] {
  const search = text.trim();
  if (search === "") return [];
  const label = `Customers with “${search}”`;
  return [{ path: "customers", search: { search }, label, kind: "list", icon: "customers" }];
}

function pagesWith(text: string): readonly Place[] {
  return navigation
    .flatMap(({ pages }) => pages)
    .filter(({ label, also }) =>
      `${label} ${also}`.toLowerCase().includes(text.trim().toLowerCase()),
    )
    .map((page) => ({ ...page, kind: "page" }));
}
