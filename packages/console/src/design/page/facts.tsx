/** Named facts of an object: a row of them, or a list. */
import type { ReactNode } from "react";
import styles from "./page.module.css";

/** A fact: its name and what it is. */
export type Fact = readonly [name: ReactNode, value: ReactNode];

/** Shows facts side by side, for the head of a page. */
export function FactRow({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className={styles.factRow}>
      {facts.map(([name, value], index) => (
        <div key={`${String(index)} ${typeof name === "string" ? name : ""}`}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Shows facts below each other, name and value on a line. */
export function FactList({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className={styles.factList}>
      {facts.map(([name, value], index) => (
        <div key={`${String(index)} ${typeof name === "string" ? name : ""}`}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
