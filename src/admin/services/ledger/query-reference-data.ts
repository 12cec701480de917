/**
 * Reads a ledger's reference data on an operator's behalf. The answers are cached, and documents
 * are validated against them. POSTING-5
 */
import { organisationReferenceData, referenceDataList } from "../../../domain/ledger/validation.ts";
import type {
  LedgerAnswer,
  LedgerMappingKind,
  LedgerMappingOption,
  LedgerOrganisation,
} from "../../../ledger/port/ledger.ts";
import type { AdminDependencies } from "../dependencies.ts";
import { askLedger, tryLedger } from "./ledger-answers.ts";

/**
 * One of the ledger's lists to map from. Refuses `ledger_not_connected`, `ledger_refused`,
 * `ledger_unavailable`.
 */
export async function queryMappingOptions(
  deps: AdminDependencies,
  organisationId: string,
  kind: LedgerMappingKind,
): Promise<readonly LedgerMappingOption[]> {
  const source = await sourceOf(deps, organisationId);
  const options = await askLedger(deps, organisationId, (ledger, call) =>
    ledger.listMappingOptions(call, kind),
  );
  await deps.store.referenceData.save(organisationId, kind, referenceDataList(options), source());
  return options;
}

/** The ledger's organisation, or the ledger's failure. Refuses `ledger_not_connected`. */
export async function describeLedger(
  deps: AdminDependencies,
  organisationId: string,
): Promise<LedgerAnswer<LedgerOrganisation>> {
  const source = await sourceOf(deps, organisationId);
  const answer = await tryLedger(deps, organisationId, (ledger, call) => ledger.describe(call));
  if (answer.kind === "ok") {
    await deps.store.referenceData.save(
      organisationId,
      "organisation",
      organisationReferenceData(answer.value),
      source(),
    );
  }
  return answer;
}

/**
 * The tenant of the next answer, and the answer's age once it is stored. The age counts from before
 * the call.
 */
async function sourceOf(
  { store }: AdminDependencies,
  organisationId: string,
): Promise<() => { readonly tenantId: string; readonly ageMs: number }> {
  const connection = await store.connections.view(organisationId);
  const calledMs = performance.now();
  return () => ({ tenantId: connection?.tenantId ?? "", ageMs: performance.now() - calledMs });
}
