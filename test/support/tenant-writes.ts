/**
 * The changes of one subscription that the API makes, by the tenant transaction alone: what is due
 * is billed, the change is decided and saved, and nothing waits for the ledger.
 */
import { randomBytes } from "node:crypto";
import type pg from "pg";
import type { BillingState } from "../../src/domain/model/billing-state.ts";
import {
  decideUnitsChange,
  type UnitsChangeRequest,
} from "../../src/domain/subscriptions/change-units.ts";
import { decideEnd, decideEnded, type EndRequest } from "../../src/domain/subscriptions/end.ts";
import { decideRestoration } from "../../src/domain/subscriptions/restore.ts";
import { newId } from "../../src/store/database/ids.ts";
import type { UnitChange } from "../../src/store/subscriptions/unit-changes.ts";
import { createStore, type Store } from "../../src/store/tenant.ts";

/** The subscription, the organisation's now, and the id by which a repeat finds the change. */
interface WriteOrder {
  readonly id: string;
  readonly now: Date | string;
  readonly requestId?: string;
}

/** How an end came out. `removing`: invoices are removed first. `refused`: an earlier try was. */
export interface EndOutcome {
  readonly kind: "ended" | "unchanged" | "removing" | "refused";
  readonly terminationId: string;
  readonly message: string | null;
}

/** The changes of one organisation's subscriptions. */
interface TenantWrites {
  changeUnits(
    order: WriteOrder,
    request: UnitsChangeRequest | ((state: BillingState) => UnitsChangeRequest),
  ): Promise<UnitChange>;
  end(order: WriteOrder, request: EndRequest): Promise<EndOutcome>;
  /** Returns the ids of the jobs that post the documents. */
  restore(order: WriteOrder): Promise<readonly string[]>;
}

/** Opens the changes of an organisation. `store` is the platform's unless another is passed. */
export function tenantWrites(
  pool: pg.Pool,
  organisationId: string,
  store: Store = createStore(pool),
): TenantWrites {
  const open = ({ now, requestId = newId() }: WriteOrder) => {
    const at = new Date(now);
    const request = { requestId, requestHash: new Uint8Array(randomBytes(32)), awaitedUntil: at };
    return { tenant: store.tenant(organisationId, at), request };
  };
  return {
    changeUnits: async (order, requestOf) => {
      const { tenant, request } = open(order);
      const jobIds = { invoice: newId(), amendment: newId(), creditNote: newId() };
      const id = newId();
      return tenant.onCurrentSubscription(order.id, async (tx, state) => {
        const asked = typeof requestOf === "function" ? requestOf(state) : requestOf;
        const decision = decideUnitsChange(state, { ...asked, changeId: id });
        const { effectiveDate } = asked;
        return tx.unitChanges.save(state, decision, { ...request, id, effectiveDate, jobIds });
      });
    },
    end: async (order, asked) => {
      const { tenant, request } = open(order);
      const termination = { ...request, id: newId(), when: asked.when };
      return tenant.onCurrentSubscription<EndOutcome>(
        order.id,
        async (tx, state) => {
          const earlier = await tx.terminations.findByRequest(termination);
          if (earlier !== null)
            return { kind: "refused", terminationId: earlier.id, message: earlier.message };
          const facts = await tx.terminations.loadFacts(state);
          const decision = decideEnd(facts, asked);
          const outcome = { terminationId: termination.id, message: null };
          if (decision.kind === "unchanged") return { ...outcome, kind: "unchanged" };
          if (decision.removals.length > 0) {
            await tx.terminations.saveRemovals(state, decision, termination);
            return { ...outcome, kind: "removing" };
          }
          const ended = decideEnded(state, asked.when, facts.next);
          await tx.terminations.saveEnded(state, ended, termination);
          return { ...outcome, kind: "ended" };
        },
        { closing: asked.when === "now" },
      );
    },
    restore: async (order) => {
      const { tenant, request } = open(order);
      return tenant.onCurrentSubscription(order.id, async (tx, state) => {
        const restoration = decideRestoration(await tx.restorations.loadFacts(state));
        return tx.restorations.save(state, restoration, request);
      });
    },
  };
}
