/**
 * Reads a ledger's reference data on an operator's behalf. The answers are cached, and documents
 * are validated against them. POSTING-5
 */
import {
  organisationReferenceData,
  referenceDataList,
} from "../../domain/billing/ledger-reference-data.ts";
import type {
  LedgerAnswer,
  LedgerMappingKind,
  LedgerMappingOption,
  LedgerOrganisation,
} from "../../ledger/port/ledger.ts";
import type { AdminParts } from "./dependencies.ts";
import { askLedger, tryLedger } from "./ledger-answers.ts";

/**
 * One of the ledger's lists to map from. Refuses `ledger_not_connected`, `ledger_refused`,
 * `ledger_unavailable`.
 */
export async function askOptions(
  parts: AdminParts,
  organisationId: string,
  kind: LedgerMappingKind,
): Promise<readonly LedgerMappingOption[]> {
  const told = await tellsOf(parts, organisationId);
  const options = await askLedger(parts, organisationId, (ledger, call) =>
    ledger.listMappingOptions(call, kind),
  );
  await parts.store.offers.save(organisationId, kind, referenceDataList(options), told());
  return options;
}

/** The ledger's organisation, or the ledger's failure. Refuses `ledger_not_connected`. */
export async function tryDescribe(
  parts: AdminParts,
  organisationId: string,
): Promise<LedgerAnswer<LedgerOrganisation>> {
  const told = await tellsOf(parts, organisationId);
  const answer = await tryLedger(parts, organisationId, (ledger, call) => ledger.describe(call));
  if (answer.kind === "ok") {
    await parts.store.offers.save(
      organisationId,
      "organisation",
      organisationReferenceData(answer.value),
      told(),
    );
  }
  return answer;
}

/**
 * The tenant of the next answer, and the answer's age once it is stored. The age counts from before
 * the call.
 */
async function tellsOf(
  { store }: AdminParts,
  organisationId: string,
): Promise<() => { readonly tenantId: string; readonly ageMs: number }> {
  const connection = await store.connections.view(organisationId);
  const askedMs = performance.now();
  return () => ({ tenantId: connection?.tenantId ?? "", ageMs: performance.now() - askedMs });
}
