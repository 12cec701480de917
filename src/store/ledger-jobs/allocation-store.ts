/**
 * The store of the activities that apply held credit: one organisation's allocations and
 * connection.
 */
import type { Encryption } from "../database/encryption.ts";
import { inTransaction, type Pool } from "../database/pool.ts";
import {
  type ConnectionState,
  pauseConnection,
  readConnection,
} from "../ledger-connection/connections.ts";
import { type AllocationResult, recordAllocation } from "./allocation-outcomes.ts";
import {
  type AllocationToSend,
  planAllocations,
  readAllocationWait,
  rescheduleAllocation,
  takeAllocation,
} from "./credit-allocations.ts";

/** Store of one organisation's allocations. */
export interface AllocationScope {
  /** The connection with its secret decrypted, or null if there is none. */
  connection(): Promise<ConnectionState | null>;
  /** Pauses every call of the connection. */
  pause(pauseMs: number, reason: string): Promise<void>;
  /** Reschedules the subscription's allocation, unless it is leased. */
  reschedule(subscriptionId: string, pauseMs: number, reason: string): Promise<void>;
  /** True if a step was planned. */
  plan(subscriptionId: string): Promise<boolean>;
  take(subscriptionId: string, leaseMs: number): Promise<AllocationToSend | null>;
  settle(subscriptionId: string, settled: AllocationResult): Promise<void>;
  /** Milliseconds until the subscription's allocation can be tried. Null if there is none. */
  nextInMs(subscriptionId: string): Promise<number | null>;
}

/** Opens an organisation's allocations. */
export type OpenAllocating = (organisationId: string) => AllocationScope;

/** Binds allocations to a pool. `sealing` decrypts the connections' secrets. */
export function createAllocating(pool: Pool, sealing: Encryption): OpenAllocating {
  return (organisationId) => ({
    connection: () => readConnection(pool, sealing, organisationId),
    pause: (pauseMs, reason) => pauseConnection(pool, organisationId, pauseMs, reason),
    reschedule: (subscriptionId, pauseMs, reason) =>
      rescheduleAllocation(pool, organisationId, subscriptionId, pauseMs, reason),
    plan: async (subscriptionId) => {
      const planned = await inTransaction(pool, (client) =>
        planAllocations(client, organisationId, [subscriptionId]),
      );
      return planned.length > 0;
    },
    take: (subscriptionId, leaseMs) =>
      takeAllocation(pool, organisationId, subscriptionId, leaseMs),
    settle: (subscriptionId, settled) =>
      recordAllocation(pool, organisationId, subscriptionId, settled),
    nextInMs: (subscriptionId) => readAllocationWait(pool, organisationId, subscriptionId),
  });
}
