/** A value that the service says once: it is in this drawer, and nowhere else. */
import { Copyable } from "../design/values/copyable.tsx";
import styles from "./forms.module.css";

/** Shows the value with what it is for. */
export function Secret({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <div className={styles.secret} role="note">
      <p>
        <strong>Copy the {what} now.</strong> It is shown this once: nobody can read it again.
      </p>
      <Copyable text={text} what={what} />
    </div>
  );
}
