/** The addresses of an organisation's documents in its ledger, for people. ADMIN-11 */
import { findLedgerKind, type LedgerDocumentKind } from "../../../ledger/port/ledger-kind.ts";
import type { AdminDependencies } from "../dependencies.ts";

/** Returns the address of a document's page. Null if the ledger lacks it or shows no page. */
export type LedgerPage = (kind: LedgerDocumentKind, ledgerId: string | null) => string | null;

/** Opens the pages of an organisation's ledger. Without a connection there are none. */
export async function openLedgerPages(
  { store, kinds }: Pick<AdminDependencies, "store" | "kinds">,
  organisationId: string,
): Promise<LedgerPage> {
  const connection = await store.connections.view(organisationId);
  const page = connection && findLedgerKind(kinds, connection.kind)?.documentPage;
  return (kind, ledgerId) =>
    page && ledgerId !== null ? page(connection, { kind, ledgerId }) : null;
}
