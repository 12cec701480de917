/**
 * The store of the activities that apply held credit: one organisation's allocations and
 * connection.
 */

import { binding } from "../../database/bind.ts";
import type { Encryption } from "../../database/encryption.ts";
import { inTransaction, type Pool } from "../../database/pool.ts";
import { bindConnection } from "../../ledger-connection/connections.ts";
import { planAllocations } from "../credit-allocations.ts";
import { rescheduleAllocation } from "../job-lease.ts";
import { recordAllocation } from "./allocation-outcomes.ts";
import { claimAllocation, readAllocationWait } from "./claim-allocations.ts";

/** Store of one organisation's allocations. */
export type AllocationStore = ReturnType<OpenAllocations>;

/** Opens an organisation's allocations. */
export type OpenAllocations = ReturnType<typeof createAllocations>;

/** Binds allocations to a pool. `encryption` decrypts the connections' secrets. */
export function createAllocations(pool: Pool, encryption: Encryption) {
  return (organisationId: string) => {
    const bound = binding(pool, organisationId);
    return {
      ...bindConnection(pool, encryption, organisationId),
      reschedule: bound(rescheduleAllocation),
      /** True if a step was planned. */
      plan: async (subscriptionId: string) => {
        const planned = await inTransaction(pool, (client) =>
          planAllocations(client, organisationId, [subscriptionId]),
        );
        return planned.length > 0;
      },
      take: bound(claimAllocation),
      record: bound(recordAllocation),
      /** Milliseconds until the subscription's allocation can be tried. Null if there is none. */
      nextInMs: bound(readAllocationWait),
    };
  };
}
