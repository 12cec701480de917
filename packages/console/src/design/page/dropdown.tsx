/** A button with a panel below it: a disclosure that closes when it is left. */
import { type ReactNode, useRef, useState } from "react";
import styles from "./dropdown.module.css";

interface DropdownProps {
  /** What the button shows. */
  readonly button: ReactNode;
  /** What the button is called, if it shows no words. */
  readonly name?: string;
  readonly className?: string | undefined;
  /** Whether the panel ends where the button does. */
  readonly isAtEnd?: boolean;
  readonly children: (close: () => void) => ReactNode;
}

/** Shows the panel while it is open. */
export function Dropdown({ button, name, className, isAtEnd = false, children }: DropdownProps) {
  const [isOpen, setOpen] = useState(false);
  const summary = useRef<HTMLElement>(null);
  const close = () => {
    setOpen(false);
    summary.current?.focus();
  };
  return (
    <details
      className={styles.dropdown}
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      onKeyDown={(event) => event.key === "Escape" && close()}
      onBlur={(event) =>
        event.relatedTarget !== null &&
        !event.currentTarget.contains(event.relatedTarget) &&
        setOpen(false)
      }
    >
      <summary ref={summary} aria-label={name} className={className}>
        {button}
      </summary>
      {isOpen && (
        <div className={`${styles.panel} ${isAtEnd ? styles.atEnd : ""}`}>{children(close)}</div>
      )}
    </details>
  );
}
