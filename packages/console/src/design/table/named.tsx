/** The first cell of a row: a name, and what tells it apart below it. */
import type { ReactNode } from "react";
import styles from "./table.module.css";

const titleOf = (shown: ReactNode) => (typeof shown === "string" ? shown : undefined);

/** A name with a smaller line below it. */
export function Named({ name, sub }: { readonly name: ReactNode; readonly sub?: ReactNode }) {
  return (
    <>
      <span className={styles.named} title={titleOf(name)}>
        {name}
      </span>
      {sub && (
        <span className={`${styles.named} ${styles.sub}`} title={titleOf(sub)}>
          {sub}
        </span>
      )}
    </>
  );
}
