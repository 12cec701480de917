/** Says which numbers with an organisation's prefix the ledger already has. POSTING-9 */
import { foldText } from "../../../ledger/port/texts.ts";
import type { AdminDependencies } from "../dependencies.ts";
import { requireOrganisation } from "../dependencies.ts";
import { tryLedger } from "./ledger-answers.ts";

const exampleLimit = 3;

/**
 * A sentence for each kind of document whose numbers with our prefix others have in the ledger. It
 * reads the page of the last changes, one call a kind. Empty if the ledger does not answer.
 */
export async function usedNumbers(
  deps: AdminDependencies,
  organisationId: string,
): Promise<readonly string[]> {
  const { numberPrefix } = await requireOrganisation(deps, organisationId);
  const prefixes = {
    invoices: numberPrefix,
    credit_notes: `CN-${numberPrefix.replace(/^INV-/, "")}`,
  };
  const warnings: string[] = [];
  for (const kind of ["invoices", "credit_notes"] as const) {
    const prefix = prefixes[kind];
    const answer = await tryLedger(deps, organisationId, (ledger, call) =>
      ledger.listChanges<"invoices" | "credit_notes">(call, { kind }),
    );
    if (answer.kind !== "ok") return warnings;
    const used = answer.value.changes.filter(
      ({ number }) => prefix !== "" && foldText(number).startsWith(foldText(prefix)),
    );
    const ours = await deps.store.documents.inLedger(
      organisationId,
      kind,
      used.map(({ id }) => id),
    );
    const others = used.filter(({ id }) => !ours.has(id)).map(({ number }) => number);
    if (others.length === 0) continue;
    const highest = others.toSorted(byNumber).slice(0, exampleLimit).join(", ");
    const name = kind === "invoices" ? "invoices" : "credit notes";
    warnings.push(
      `${others.length} other ${name} of the last ${answer.value.changes.length} changed in the ` +
        `ledger have numbers with the prefix ${prefix}, the highest ${highest}: choose another ` +
        "prefix, or each document may need several tries.",
    );
  }
  return warnings;
}

function byNumber(left: string, right: string): number {
  return right.localeCompare(left, "en", { numeric: true });
}
