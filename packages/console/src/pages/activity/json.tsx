/** JSON as a person reads it. A text that is no JSON is shown as it is. */
import styles from "./activity.module.css";

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Shows JSON in a place that scrolls. */
export function Json({ text, name }: { readonly text: string; readonly name: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a place that scrolls needs the keyboard
    <section className={styles.json} tabIndex={0} aria-label={name}>
      <pre>{indented(text)}</pre>
    </section>
  );
}
