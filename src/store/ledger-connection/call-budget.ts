/**
 * The budget of calls to an organisation's ledger, shared by all processes through PostgreSQL. A
 * permit is taken before a call and returned after it. POSTING-6, LEDGER-8. SQL, because a permit
 * is one call of a function of the database, which holds the row for one statement.
 */

import { strict as assert } from "node:assert";
import { newId } from "../database/ids.ts";
import { bigint, bool, text } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, type Executor, query } from "../database/sql/statement.ts";

/** What is left of the ledger's limits, as the ledger reported it. Null if it reported nothing. */
interface LimitsLeft {
  readonly minute: number | null;
  readonly day: number | null;
}

/**
 * A permit for one call, returned by `end`, or the reason why there is none for `waitMs`. The
 * caller waits out `concurrent` and waits of a second or two.
 */
export type CallPermit =
  | { readonly kind: "granted"; readonly end: (left: LimitsLeft | null) => Promise<void> }
  | {
      readonly kind: "spent";
      readonly scope: "minute" | "day" | "concurrent";
      readonly waitMs: number;
    };

/** One organisation's budget. */
export type LedgerBudget = ReturnType<typeof createCallBudget>;

const takeCall = query({
  name: "take_ledger_call",
  planned: "once",
  text: sql`
    SELECT granted, scope, wait_ms
    FROM take_ledger_call($1, $2, $3, $4 * interval '1 ms', $5, $6, $7)
  `,
  row: {
    granted: bool,
    scope: text.as<"minute" | "day" | "concurrent">().orNull(),
    waitMs: bigint.orNull(),
  },
});

const endCall = command({
  name: "end_ledger_call",
  planned: "once",
  text: sql`SELECT FROM end_ledger_call($1, $2, $3, $4, $5, $6)`,
});

/** The limits of a kind of ledger. `day` is null if only its answers say what is left of a day. */
export interface CallLimits {
  readonly minute: number;
  readonly day: number | null;
  readonly concurrent: number;
}

/**
 * Creates the budget of one organisation. A call counts as running for at most `leaseMs` if its
 * process died before returning the permit. No call takes that long. Returning a permit never
 * rejects. If a return is lost, the permit expires with the lease.
 */
export function createCallBudget(
  pool: Executor,
  organisationId: string,
  leaseMs: number,
  { minute, day, concurrent }: CallLimits,
) {
  return {
    /**
     * `isBackground`: no caller waits for the call. Part of the budget is reserved from such calls.
     */
    take: async (isBackground: boolean): Promise<CallPermit> => {
      const callId = newId();
      const limits = [minute, day, concurrent];
      const [permit] = await takeCall(
        pool,
        organisationId,
        callId,
        isBackground,
        leaseMs,
        ...limits,
      );
      assert(permit, "the function returns one row");
      if (!permit.granted)
        return { kind: "spent", scope: permit.scope ?? "minute", waitMs: Number(permit.waitMs) };
      return {
        kind: "granted",
        end: async (left) => {
          const reported = [left?.minute ?? null, left?.day ?? null];
          await endCall(pool, organisationId, callId, ...reported, minute, concurrent).catch(
            () => undefined,
          );
        },
      };
    },
  };
}
