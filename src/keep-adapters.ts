/** The ledger adapters of a process: one for each organisation, so that its tokens and sockets last from call to call. */
import { createHash } from "node:crypto";
import { isLedgerKind, ledgers } from "./ledger/index.ts";
import type { CallBudget, Ledger } from "./ledger/port.ts";
import { createCallBudget } from "./store/ledger-budget.ts";
import type { LedgerConnection } from "./store/ledger-connections.ts";
import type { createPool } from "./store/pool.ts";

/** How much longer than its deadline a call of the ledger may take until it is given back to the budget. */
const callEndMs = 1_000;

/** One adapter for each organisation, as long as its connection stays the same: tokens and sockets are kept with it. */
export function keepAdapters(
  pool: ReturnType<typeof createPool>,
  callDeadlineMs: number,
): {
  readonly open: (organisationId: string, connection: LedgerConnection) => Ledger;
  readonly close: () => Promise<void>;
} {
  const kept = new Map<string, { readonly print: string; readonly ledger: Ledger }>();
  return {
    open: (organisationId, connection) => {
      const print = createHash("sha256").update(JSON.stringify(connection)).digest("base64");
      const known = kept.get(organisationId);
      if (known?.print === print) return known.ledger;
      void known?.ledger.close();
      const ledger = connectLedger(connection, {
        budget: createCallBudget(pool, organisationId, callDeadlineMs + callEndMs),
      });
      kept.set(organisationId, { print, ledger });
      return ledger;
    },
    close: async () => {
      await Promise.all([...kept.values()].map(({ ledger }) => ledger.close()));
    },
  };
}

/** An adapter over a connection; whoever asks for it closes it. One that is only tried has no budget. */
export function connectLedger(connection: LedgerConnection, options: { readonly budget?: CallBudget } = {}): Ledger {
  if (!isLedgerKind(connection.kind)) throw new Error(`there is no ledger of kind ${connection.kind}`);
  return ledgers[connection.kind](connection, options);
}
