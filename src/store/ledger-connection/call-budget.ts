/**
 * The budget of calls to an organisation's ledger, shared by all processes through PostgreSQL: a call is taken before it is made and
 * given back after it. Facts: facts-ledger section 1.7.
 */
import type pg from "pg";
import { newId } from "../database/ids.ts";

/** What a ledger said is left of its limits; null where it said nothing. */
export interface LimitsLeft {
  readonly minute: number | null;
  readonly day: number | null;
}

/**
 * A call that may be made, to be given back by `end`; or why none may be made for `waitMs`. `concurrent` and waits within a second or
 * two are for the caller to wait out.
 */
export type CallPermit =
  | { readonly kind: "granted"; readonly end: (left: LimitsLeft | null) => Promise<void> }
  | { readonly kind: "spent"; readonly scope: "minute" | "day" | "concurrent"; readonly waitMs: number };

/** One organisation's budget. `isBackground`: nobody waits for what the call is about; some of the budget is kept from such calls. */
export interface LedgerBudget {
  take(isBackground: boolean): Promise<CallPermit>;
}

interface TakenRow {
  granted: boolean;
  scope: "minute" | "day" | "concurrent" | null;
  wait_ms: string;
}

/**
 * The budget of one organisation. A call counts as on its way for `leaseMs` at the longest, where nobody gives it back because its
 * process is gone: no call takes that long. Giving back never rejects: what is lost is made up for by the lease.
 */
export function createCallBudget(pool: Pick<pg.Pool, "query">, organisationId: string, leaseMs: number): LedgerBudget {
  return {
    take: async (isBackground) => {
      const callId = newId();
      const { rows } = await pool.query<TakenRow>({
        name: "take_ledger_call",
        text: "SELECT granted, scope, wait_ms FROM take_ledger_call($1, $2, $3, $4 * interval '1 millisecond')",
        values: [organisationId, callId, isBackground, leaseMs],
      });
      const row = rows[0];
      if (row === undefined) throw new Error("the budget gave no answer");
      if (!row.granted) return { kind: "spent", scope: row.scope ?? "minute", waitMs: Number(row.wait_ms) };
      return {
        kind: "granted",
        end: async (left) => {
          await pool
            .query({
              name: "end_ledger_call",
              text: "SELECT end_ledger_call($1, $2, $3, $4)",
              values: [organisationId, callId, left?.minute ?? null, left?.day ?? null],
            })
            .catch(() => undefined);
        },
      };
    },
  };
}
