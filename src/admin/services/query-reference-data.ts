/** Asking a ledger what it offers on an operator's behalf: what it tells is kept, so that documents are judged by it. decisions §6. */
import { referenceDataList, organisationReferenceData } from "../../domain/billing/ledger-reference-data.ts";
import type {
  LedgerAnswer,
  LedgerMappingKind,
  LedgerMappingOption,
  LedgerOrganisation,
} from "../../ledger/port/ledger.ts";
import type { AdminParts } from "./dependencies.ts";
import { askLedger, tryLedger } from "./ledger-answers.ts";

/** A list from which is mapped. Refuses `ledger_not_connected`, `ledger_refused`, `ledger_unavailable`. */
export async function askOptions(
  parts: AdminParts,
  organisationId: string,
  kind: LedgerMappingKind,
): Promise<readonly LedgerMappingOption[]> {
  const told = await tellsOf(parts, organisationId);
  const options = await askLedger(parts, organisationId, (ledger, call) => ledger.listMappingOptions(call, kind));
  await parts.store.offers.keep(organisationId, kind, referenceDataList(options), told());
  return options;
}

/** The organisation behind the connection, or what the ledger failed with. Refuses `ledger_not_connected`. */
export async function tryDescribe(
  parts: AdminParts,
  organisationId: string,
): Promise<LedgerAnswer<LedgerOrganisation>> {
  const told = await tellsOf(parts, organisationId);
  const answer = await tryLedger(parts, organisationId, (ledger, call) => ledger.describe(call));
  if (answer.kind === "ok") {
    await parts.store.offers.keep(organisationId, "organisation", organisationReferenceData(answer.value), told());
  }
  return answer;
}

/** Whose answer comes next, and how old it is by then. */
async function tellsOf(
  { store }: AdminParts,
  organisationId: string,
): Promise<() => { readonly tenantId: string; readonly ageMs: number }> {
  const connection = await store.connections.view(organisationId);
  const askedMs = performance.now();
  return () => ({ tenantId: connection?.tenantId ?? "", ageMs: performance.now() - askedMs });
}
