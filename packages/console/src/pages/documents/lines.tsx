/** Lines of a document or of a preview: what each is for, and its amount. */
import type { ReactNode } from "react";
import { Day } from "../../design/values/instant.tsx";
import { amountText, Money } from "../../design/values/money.tsx";
import styles from "./documents.module.css";

/** What a line has, of an invoice, a credit note or a preview. */
export interface ShownLine {
  readonly name: string;
  readonly description: string;
  readonly amount: string;
  readonly period?: { readonly start: string; readonly end: string };
}

/** The lines with what is below each, and the sums at the end. */
interface LinesProps {
  readonly lines: readonly ShownLine[];
  readonly currency: string;
  readonly sums: readonly (readonly [name: string, amount: string])[];
  /** What stands below the line at this place, such as its derivation. */
  readonly below?: (index: number) => ReactNode;
}

/** Shows lines and their sums. */
export function Lines({ lines, currency, sums, below }: LinesProps) {
  return (
    <div className={styles.lines}>
      {lines.map((line, index) => (
        <div key={`${String(index)} ${line.name}`} className={styles.line}>
          <div className={styles.lineText}>
            <div className={styles.lineName}>{line.name}</div>
            <div className={styles.lineSub}>
              {line.description}
              {line.period && (
                <span>
                  {line.description === "" ? "" : " · "}
                  <Day date={line.period.start} /> to <Day date={line.period.end} />
                </span>
              )}
            </div>
          </div>
          <span className="number">{amountText(line.amount, currency)}</span>
          {below && <div className={styles.below}>{below(index)}</div>}
        </div>
      ))}
      {sums.map(([name, amount], index) => (
        <div key={name} className={`${styles.sum} ${index === sums.length - 1 ? styles.last : ""}`}>
          <span>{name}</span>
          <Money amount={amount} currency={currency} />
        </div>
      ))}
    </div>
  );
}
