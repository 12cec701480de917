/** Two columns: what the page is about, and what stands beside it. */
import type { ReactNode } from "react";
import styles from "./columns.module.css";

/** Shows both beside each other where there is room. `isFirst`: else the second comes first. */
export function Columns({
  children,
  beside,
  name,
  isFirst = false,
}: {
  readonly children: ReactNode;
  readonly beside?: ReactNode;
  readonly name: string;
  readonly isFirst?: boolean;
}) {
  return (
    <div className={styles.columns}>
      <div className={styles.first}>{children}</div>
      {beside && (
        <aside className={`${styles.second} ${isFirst ? styles.before : ""}`} aria-label={name}>
          {beside}
        </aside>
      )}
    </div>
  );
}
