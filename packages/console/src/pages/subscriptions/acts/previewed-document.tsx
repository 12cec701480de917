/** A document of a preview: what becomes of it, its lines with their arithmetic, and its sum. */
import type { ReactNode } from "react";
import styles from "../../../act/changes.module.css";
import { Disclosure } from "../../../design/page/disclosure.tsx";
import { Money } from "../../../design/values/money.tsx";
import { Derivation, readExplanation, Verified } from "../../../explain/explanation.tsx";
import type { Explanation } from "../../../gen/billing/v1/explanations_pb.ts";
import { Lines, type ShownLine } from "../../documents/lines.tsx";

/** What is shown of a document. */
interface PreviewedDocumentProps {
  /** What becomes of it: `Issues an invoice`. */
  readonly title: ReactNode;
  readonly sub?: ReactNode;
  readonly lines: readonly ShownLine[];
  readonly currency: string;
  readonly subtotal: string;
  /** What the sum was, if the document exists already. */
  readonly was?: string | undefined;
  readonly explanation?: Explanation | undefined;
  /** Whether the lines are behind a disclosure. */
  readonly isFolded?: boolean;
}

/** Shows a document of a preview. */
export function PreviewedDocument(props: PreviewedDocumentProps) {
  const { title, sub, lines, currency, subtotal, was, isFolded = false } = props;
  const explanation = readExplanation(props.explanation);
  const shown = (
    <Lines
      lines={lines}
      currency={currency}
      sums={[
        ...(was !== undefined && was !== subtotal ? [["Was", was] as const] : []),
        ["Before tax", subtotal],
      ]}
      below={(index) => <Derivation explanation={explanation} line={index} />}
    />
  );
  return (
    <div className={styles.document}>
      <div className={styles.documentHead}>
        <h3>{title}</h3>
        {isFolded && <Money amount={subtotal} currency={currency} />}
        <Verified explanation={explanation} />
      </div>
      {sub !== undefined && <p className="muted">{sub}</p>}
      {isFolded ? <Disclosure title="Its lines">{shown}</Disclosure> : shown}
    </div>
  );
}
