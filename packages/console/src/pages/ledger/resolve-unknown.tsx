/** Decides about a document that the ledger has and nobody here issued. */
import { useOrganisation } from "../../data/organisation.tsx";
import { Act } from "../../forms/act.tsx";
import { textOf } from "../../forms/fields.tsx";
import { LedgerReconciliationService } from "../../gen/billing/admin/v1/ledger_reconciliation_pb.ts";

/** The act: a document here takes it, or it is dismissed. */
export function ResolveUnknown({ id, number }: { readonly id: string; readonly number: string }) {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      isInRow
      label="Decide"
      title={`Decide about ${number}`}
      method={LedgerReconciliationService.method.resolveUnknownDocument}
      fields={[
        {
          name: "document",
          label: "Id of the invoice or credit note here",
          about: "It takes the ledger's document as its own, and is never created there.",
          isOptional: true,
        },
      ]}
      request={(values) => ({ organisation, id, document: textOf(values, "document") })}
      effect={(values) =>
        textOf(values, "document") === undefined
          ? `Dismiss ${number}`
          : `Let the document take ${number}`
      }
      about={
        <p>
          Without an id it is dismissed: documents of its customer no longer wait, and are created
          in the ledger in addition to it. Look there first whether it is real.
        </p>
      }
      done={`${number} was decided`}
    />
  );
}
