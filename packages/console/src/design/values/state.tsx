/** A state: a dot whose shape says what its colour says, and a word. */
import styles from "./values.module.css";

/** What a state asks of a person: nothing, to wait, to look, or to act. */
export type Tone = "ok" | "info" | "warn" | "bad" | "quiet";

/** A state in words. */
export interface StateWords {
  readonly word: string;
  readonly tone: Tone;
}

/** The shape of each tone, in a square of 10. */
const shapes: Readonly<Record<Tone, React.ReactNode>> = {
  ok: <circle cx={5} cy={5} r={4} fill="currentColor" />,
  info: <circle cx={5} cy={5} r={3.2} fill="none" stroke="currentColor" strokeWidth={1.8} />,
  warn: <path d="M5 0.8 9.4 9H0.6z" fill="currentColor" />,
  bad: <rect x={1} y={1} width={8} height={8} rx={1} fill="currentColor" />,
  quiet: <path d="M1.5 5h7" stroke="currentColor" strokeWidth={2} strokeLinecap="round" />,
};

/** The dot of a tone, where words stand beside it. */
export function Dot({ tone }: { readonly tone: Tone }) {
  return (
    <svg aria-hidden="true" className={styles[tone]} width={10} height={10} viewBox="0 0 10 10">
      {shapes[tone]}
    </svg>
  );
}

/** Shows a state. */
export function State({ word, tone }: StateWords) {
  return (
    <span className={styles.state}>
      <Dot tone={tone} />
      {word}
    </span>
  );
}
