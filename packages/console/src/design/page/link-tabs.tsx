/** The parts of a page as links: each has its address, so that the back button works. */
import { Link, type LinkProps } from "@tanstack/react-router";
import styles from "./page.module.css";

/** A part: its words, and what it adds to the address. */
export interface LinkTab {
  readonly label: string;
  readonly to: LinkProps;
  readonly isCurrent: boolean;
}

/** Links to the parts of the page. */
export function LinkTabs({
  tabs,
  name,
}: {
  readonly tabs: readonly LinkTab[];
  readonly name: string;
}) {
  return (
    <nav className={styles.tabs} aria-label={name}>
      {tabs.map(({ label, to, isCurrent }) => (
        <Link
          key={label}
          {...to}
          resetScroll={false}
          // Else each link whose members the address has would be a current one.
          activeOptions={{ exact: true }}
          aria-current={isCurrent ? "true" : undefined}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}
