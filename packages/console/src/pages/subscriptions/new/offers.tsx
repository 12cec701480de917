/** What can be chosen, as links: the address has the choice, so that back takes it away. */
import { Link, type LinkProps, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Named } from "../../../design/table/named.tsx";
import styles from "./new.module.css";

/** A list of what can be chosen. */
export function Offers({
  name,
  children,
}: {
  readonly name: string;
  readonly children: ReactNode;
}) {
  return (
    <ul className={styles.offers} aria-label={name}>
      {children}
    </ul>
  );
}

/** One of them. */
export function Offer({
  adds,
  children,
}: {
  readonly adds: LinkProps["search"];
  readonly children: ReactNode;
}) {
  const search = useSearch({ strict: false });
  return (
    <li>
      <Link
        to="."
        search={{ ...search, ...Object(adds) } as LinkProps["search"]}
        resetScroll={false}
        className={styles.offer}
      >
        {children}
      </Link>
    </li>
  );
}

/** What was chosen, with the way to choose another. */
export function Chosen({
  name,
  sub,
  change,
  what,
}: {
  readonly name: string;
  readonly sub: string;
  readonly change: object;
  readonly what: string;
}) {
  const search = useSearch({ strict: false });
  return (
    <div className={styles.chosen}>
      <div>
        <Named name={name} sub={sub} />
      </div>
      <Link to="." search={{ ...search, ...change } as LinkProps["search"]} resetScroll={false}>
        Change<span className="unseen"> the {what}</span>
      </Link>
    </div>
  );
}
