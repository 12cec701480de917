/** Something that is shown when a person asks for it. */
import type { ReactNode } from "react";
import { Icon } from "../icons.tsx";
import styles from "./page.module.css";

/** A button that shows and hides what is inside. The browser does it, also by keyboard. */
export function Disclosure({
  title,
  onOpen,
  children,
}: {
  readonly title: ReactNode;
  readonly onOpen?: () => void;
  readonly children: ReactNode;
}) {
  return (
    <details
      className={styles.disclosure}
      onToggle={(event) => event.currentTarget.open && onOpen?.()}
    >
      <summary>
        <Icon name="older" size={12} />
        {title}
      </summary>
      {children}
    </details>
  );
}
