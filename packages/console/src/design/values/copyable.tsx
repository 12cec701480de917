/** A text that is copied by a click: ids, numbers, secrets that are shown once. */
import { useState } from "react";
import { announce } from "../../shell/announcer.tsx";
import { Icon } from "../icons.tsx";
import styles from "./values.module.css";

/** Shows the text with a button that copies it. `what` names it for readers: `Subscription id`. */
export function Copyable({ text, what }: { readonly text: string; readonly what: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    announce(`${what} copied`);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <span className={styles.copyable}>
      <code>{text}</code>
      <button type="button" className={styles.copy} onClick={copy} aria-label={`Copy ${what}`}>
        <Icon name={copied ? "done" : "copy"} size={14} />
      </button>
    </span>
  );
}
