/** A place without anything: the fact, why it matters, one act, and where to read more. */
import type { ReactNode } from "react";
import { docsAddress } from "./docs-link.tsx";
import styles from "./page.module.css";

/** What an empty place says. */
interface EmptyStateProps {
  readonly title: string;
  readonly children?: ReactNode;
  readonly act?: ReactNode;
  /** A page of the documentation: `guide`. */
  readonly docs?: string;
}

/** Says that there is nothing here, and what comes next. */
export function EmptyState({ title, children, act, docs }: EmptyStateProps) {
  return (
    <div className={styles.empty}>
      <p className={styles.fact}>{title}</p>
      {children !== undefined && <p>{children}</p>}
      {act}
      {docs !== undefined && (
        <a href={docsAddress(docs)} target="_blank" rel="noreferrer">
          Read about it
        </a>
      )}
    </div>
  );
}
