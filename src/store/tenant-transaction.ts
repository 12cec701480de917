/**
 * One transaction of a tenant on a locked, fully billed subscription: the reads and writes by which
 * the services change it.
 */
import type { BillingState } from "../domain/model/billing-state.ts";
import type { UnitsDecision } from "../domain/subscriptions/change-units.ts";
import type { EndDecision, EndedSubscription, EndFacts } from "../domain/subscriptions/end.ts";
import type { Restoration, RestorationFacts } from "../domain/subscriptions/restore.ts";
import type { OpenTransaction } from "./billing/current-subscription.ts";
import {
  findRestoration,
  loadRestorationFacts,
  type SavedRestoration,
  saveRestoration,
} from "./subscriptions/restorations.ts";
import type { RequestToSave } from "./subscriptions/saved-requests.ts";
import {
  type EarlierTermination,
  findTermination,
  loadEndFacts,
  saveRemovals,
  saveTermination,
  type TerminationToSave,
} from "./subscriptions/terminations.ts";
import {
  findUnitChange,
  saveUnitChange,
  type UnitChange,
  type UnitChangeToSave,
} from "./subscriptions/unit-changes.ts";

/**
 * What the work of a service may do in the transaction. `findByRequest` finds what an earlier try
 * of the request has saved, or returns null.
 */
export interface TenantTransaction {
  readonly unitChanges: {
    findByRequest(requestId: string): Promise<UnitChange | null>;
    save(
      state: BillingState,
      decision: UnitsDecision,
      change: UnitChangeToSave,
    ): Promise<UnitChange>;
  };
  readonly terminations: {
    findByRequest(termination: TerminationToSave): Promise<EarlierTermination | null>;
    loadFacts(state: BillingState): Promise<Required<EndFacts>>;
    /** Saves an end without removals. True if a document must be posted. */
    saveEnded(
      state: BillingState,
      ended: EndedSubscription,
      termination: TerminationToSave,
    ): Promise<boolean>;
    /** Saves an end whose invoices are removed first, with the job that removes them. */
    saveRemovals(
      state: BillingState,
      decision: EndDecision & { readonly kind: "ends" },
      termination: TerminationToSave,
    ): Promise<void>;
  };
  readonly restorations: {
    findByRequest(requestId: string): Promise<SavedRestoration | null>;
    loadFacts(state: BillingState): Promise<RestorationFacts>;
    /** Returns the ids of the jobs that post its documents. */
    save(
      state: BillingState,
      restoration: Restoration,
      request: RequestToSave,
    ): Promise<readonly string[]>;
  };
}

/** Binds the reads and writes to an open transaction. */
export function tenantTransaction(tx: OpenTransaction): TenantTransaction {
  return {
    unitChanges: {
      findByRequest: (requestId) => findUnitChange(tx, requestId),
      save: (state, decision, change) => saveUnitChange(tx, state, decision, change),
    },
    terminations: {
      findByRequest: (termination) => findTermination(tx, termination),
      loadFacts: (state) => loadEndFacts(tx, state),
      saveEnded: (state, ended, termination) => saveTermination(tx, state, ended, termination),
      saveRemovals: (state, decision, termination) =>
        saveRemovals(tx, state, decision, termination),
    },
    restorations: {
      findByRequest: (requestId) => findRestoration(tx, requestId),
      loadFacts: (state) => loadRestorationFacts(tx, state),
      save: (state, restoration, request) => saveRestoration(tx, state, restoration, request),
    },
  };
}
