/** What an act changes: each fact as it is and as it becomes, with the difference. */
import type { ReactNode } from "react";
import {
  formatDecimal,
  isZero,
  parseDecimal,
  subtract,
} from "../../../../src/domain/money/decimal.ts";
import { Icon } from "../design/icons.tsx";
import { amountText, grouped } from "../design/values/money.tsx";
import styles from "./changes.module.css";

/** A fact that may change. */
export interface Change {
  readonly name: string;
  /** Absent for what is new. */
  readonly was?: ReactNode;
  readonly becomes: ReactNode;
  readonly difference?: string | null;
}

/** Shows the facts that change. */
export function Changes({ changes }: { readonly changes: readonly Change[] }) {
  return (
    <dl className={styles.changes}>
      {changes.map(({ name, was, becomes, difference }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {was !== undefined && (
              <>
                <span className="unseen">from </span>
                <span className={styles.was}>{was}</span>
                <Icon name="becomes" size={12} />
                <span className="unseen"> to </span>
              </>
            )}
            <span className={styles.becomes}>{becomes}</span>
            {difference && <span className={styles.difference}>{difference}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Returns the difference of two amounts with its sign, `+25.00`, or null if there is none. */
export function amountDifference(was: string, becomes: string, currency: string): string | null {
  const difference = subtract(parseDecimal(becomes), parseDecimal(was));
  if (isZero(difference)) return null;
  return signed(amountText(formatDecimal(difference), currency));
}

/** Returns the difference of two whole numbers with its sign, or null if there is none. */
export function numberDifference(was: number, becomes: number): string | null {
  const size = grouped(Math.abs(becomes - was));
  return was === becomes ? null : signed(becomes < was ? `−${size}` : size);
}

const signed = (text: string) => (text.startsWith("−") ? text : `+${text}`);
