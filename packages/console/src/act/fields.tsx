/** Fields of acts that the components have not: one of a few choices, and yes or no. */
import { type ReactNode, useId } from "react";
import styles from "./act.module.css";

/** A choice: its value, its words, and what they mean. */
type ChoiceWords<Value> = readonly [value: Value, label: string, meaning?: ReactNode];

/** One of a few, all of them in sight. */
export function Choices<Value extends string | number>({
  label,
  choices,
  value,
  onChange,
}: {
  readonly label: string;
  readonly choices: readonly ChoiceWords<Value>[];
  readonly value: Value | undefined;
  readonly onChange: (value: Value) => void;
}) {
  const name = useId();
  return (
    <fieldset className={styles.choices}>
      <legend>{label}</legend>
      {choices.map(([each, words, meaning]) => (
        <label key={each} className={styles.choice}>
          <input
            type="radio"
            name={name}
            checked={each === value}
            onChange={() => onChange(each)}
          />
          <span>{words}</span>
          {meaning !== undefined && <small>{meaning}</small>}
        </label>
      ))}
    </fieldset>
  );
}

/** Yes or no. */
export function YesNo({
  label,
  meaning,
  value,
  onChange,
}: {
  readonly label: string;
  readonly meaning?: ReactNode;
  readonly value: boolean;
  readonly onChange: (value: boolean) => void;
}) {
  return (
    <label className={styles.choice}>
      <input
        type="checkbox"
        checked={value}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
      {meaning !== undefined && <small>{meaning}</small>}
    </label>
  );
}

/** Fields beside each other where there is room. */
export function FieldRow({ children }: { readonly children: ReactNode }) {
  return <div className={styles.row}>{children}</div>;
}
