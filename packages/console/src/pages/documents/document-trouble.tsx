/** What is wrong with a document, in our words and in the ledger's. */
import { type Document, DocumentState } from "../../gen/billing/admin/v1/documents_pb.ts";
import { documentStates, wordsOf } from "../../words/states.ts";
import styles from "./documents.module.css";
import { RetryDocument } from "./retry-document.tsx";

/** Says what the ledger refused, or how it differs. Nothing while all is well. */
export function DocumentTrouble({ document }: { readonly document: Document }) {
  const { state, reason, message, attempts } = document;
  if (state !== DocumentState.FAILED && state !== DocumentState.DRIFT) return null;
  return (
    <section className={styles.trouble} aria-label="What happened">
      <h2>
        {state === DocumentState.FAILED
          ? `The ledger refused it ${attempts > 1 ? `${attempts} times` : ""}`
          : wordsOf(documentStates, state).word}
      </h2>
      {message && <blockquote>{message}</blockquote>}
      {reason && (
        <p className="muted">
          Reason: <code>{reason}</code>
        </p>
      )}
      {state === DocumentState.DRIFT && (
        <p>Somebody changed it there: {document.ledgerDifferences.join(", ")}.</p>
      )}
      {state === DocumentState.FAILED && (
        <RetryDocument id={document.id} label={document.number} isPrimary />
      )}
    </section>
  );
}
