/**
 * The store of the activities that apply held credit: one organisation's allocations and
 * connection.
 */

import type { Encryption } from "../../database/encryption.ts";
import { inTransaction, type Pool } from "../../database/pool.ts";
import { bindConnection, type ConnectionAccess } from "../../ledger-connection/connections.ts";
import { planAllocations } from "../credit-allocations.ts";
import { rescheduleLeased } from "../job-lease.ts";
import { type AllocationResult, recordAllocation } from "./allocation-outcomes.ts";
import { type AllocationToSend, claimAllocation, readAllocationWait } from "./claim-allocations.ts";

/** Store of one organisation's allocations. */
export interface AllocationStore extends ConnectionAccess {
  /** Reschedules the subscription's allocation, unless it is leased. */
  reschedule(subscriptionId: string, pauseMs: number, reason: string): Promise<void>;
  /** True if a step was planned. */
  plan(subscriptionId: string): Promise<boolean>;
  take(subscriptionId: string, leaseMs: number): Promise<AllocationToSend | null>;
  record(subscriptionId: string, result: AllocationResult): Promise<void>;
  /** Milliseconds until the subscription's allocation can be tried. Null if there is none. */
  nextInMs(subscriptionId: string): Promise<number | null>;
}

/** Opens an organisation's allocations. */
export type OpenAllocations = (organisationId: string) => AllocationStore;

/** Binds allocations to a pool. `encryption` decrypts the connections' secrets. */
export function createAllocations(pool: Pool, encryption: Encryption): OpenAllocations {
  return (organisationId) => ({
    ...bindConnection(pool, encryption, organisationId),
    reschedule: (subscriptionId, pauseMs, reason) =>
      rescheduleLeased(
        pool,
        organisationId,
        { kind: "allocate_credit", subscriptionId },
        pauseMs,
        reason,
      ),
    plan: async (subscriptionId) => {
      const planned = await inTransaction(pool, (client) =>
        planAllocations(client, organisationId, [subscriptionId]),
      );
      return planned.length > 0;
    },
    take: (subscriptionId, leaseMs) =>
      claimAllocation(pool, organisationId, subscriptionId, leaseMs),
    record: (subscriptionId, result) =>
      recordAllocation(pool, organisationId, subscriptionId, result),
    nextInMs: (subscriptionId) => readAllocationWait(pool, organisationId, subscriptionId),
  });
}
