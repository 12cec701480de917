/** What an act answered, in its drawer until it is closed: a secret, or what came of it by row. */
import { Button } from "@mantine/core";
import { type ReactNode, useEffect, useId, useRef } from "react";
import drawer from "../act/act.module.css";
import styles from "./forms.module.css";

/** Shows it. The focus is on the title, so that it is read. */
export function Outcome({
  title,
  onClose,
  act,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  /** What can be done here. It closes by itself without. */
  readonly act?: ReactNode;
  readonly children: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    heading.current?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <aside
      role="dialog"
      aria-labelledby={titleId}
      className={drawer.drawer}
      data-act-drawer
      onKeyDown={(event) => event.key === "Escape" && onClose()}
    >
      <div className={styles.outcome}>
        <div className={drawer.head}>
          <h2 id={titleId} ref={heading} tabIndex={-1}>
            {title}
          </h2>
        </div>
        <div className={`${drawer.body} ${styles.form}`}>{children}</div>
        <div className={drawer.foot}>
          {act}
          <Button size="md" fullWidth variant={act ? "default" : "filled"} onClick={onClose}>
            {act ? "Close" : "Done"}
          </Button>
        </div>
      </div>
    </aside>
  );
}
