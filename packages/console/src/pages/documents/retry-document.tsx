/** Retries a document at the ledger, after what it will send has been seen. */
import { useOrganisation } from "../../data/organisation.tsx";
import { Money } from "../../design/values/money.tsx";
import { Act } from "../../forms/act.tsx";
import styles from "../../forms/forms.module.css";
import {
  DocumentJob,
  DocumentService,
  type PreviewRetryDocumentResponse,
} from "../../gen/billing/admin/v1/documents_pb.ts";

const method = DocumentService.method;

const jobs: Readonly<Record<number, string>> = {
  [DocumentJob.CREATION]: "It is created in the ledger",
  [DocumentJob.AMENDMENT]: "Its lines are changed in the ledger",
  [DocumentJob.ALLOCATION]: "Its credit is applied to an invoice in the ledger",
};

interface RetryDocumentProps {
  readonly id: string;
  readonly label: string;
  readonly isPrimary?: boolean;
}

/** The act, with its preview. */
export function RetryDocument({ id, label, isPrimary = false }: RetryDocumentProps) {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="Retry"
      title={`Retry ${label}`}
      method={method.retryDocument}
      isPrimary={isPrimary}
      request={() => ({ organisation, id })}
      preview={method.previewRetryDocument}
      shown={(preview) => <Effects of={preview} />}
      effect={`Send ${label} to the ledger`}
      about={
        "The ledger is asked again at once. Nothing is charged twice: the ledger has " +
        "each document once."
      }
      done={`${label} was sent on its way to the ledger`}
    />
  );
}

function Effects({ of }: { readonly of: PreviewRetryDocumentResponse }) {
  const { job, pending, takesNextNumber, lines, document } = of;
  const currency = document?.currency ?? "";
  return (
    <div className={styles.preview}>
      <p>
        {pending
          ? "It is on its way already. Nothing more happens."
          : `${jobs[job] ?? "It is sent to the ledger"}.`}
        {takesNextNumber && " It takes the next number, because another document has its own."}
      </p>
      {lines.length > 0 && (
        <table>
          <caption className="unseen">The lines as they are sent</caption>
          <tbody>
            {lines.map(({ name, amount, revenueAccount, taxType, mappedAgain }) => (
              <tr key={`${name} ${amount} ${revenueAccount}`}>
                <td>
                  {name}
                  <br />
                  <span className="muted">
                    account {revenueAccount ?? "none"}, tax {taxType ?? "none"}
                    {mappedAgain && ", by the present mapping"}
                  </span>
                </td>
                <td>
                  <Money amount={amount} currency={currency} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}
