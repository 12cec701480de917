/** The store as the activities that apply held credit see it: one organisation's allocations and its connection. */
import type pg from "pg";
import type { Encryption } from "../database/encryption.ts";
import { inTransaction } from "../database/pool.ts";
import { type ConnectionState, pauseConnection, readConnection } from "../ledger-connection/connections.ts";
import { type AllocationResult, recordAllocation } from "./allocation-outcomes.ts";
import {
  type AllocationToSend,
  planAllocations,
  rescheduleAllocation,
  readAllocationWait,
  takeAllocation,
} from "./credit-allocations.ts";

/** What applying credit asks of one organisation's data. */
export interface AllocationScope {
  /** The connection with its secret opened, or null where there is none. */
  connection(): Promise<ConnectionState | null>;
  /** Pauses every call of the connection. */
  pause(pauseMs: number, reason: string): Promise<void>;
  /** Puts off the subscription's allocation, unless somebody holds it. */
  reschedule(subscriptionId: string, pauseMs: number, reason: string): Promise<void>;
  /** True where a step was planned. */
  plan(subscriptionId: string): Promise<boolean>;
  take(subscriptionId: string, leaseMs: number): Promise<AllocationToSend | null>;
  settle(subscriptionId: string, settled: AllocationResult): Promise<void>;
  /** In how many milliseconds the subscription's allocation can be tried; null where there is none. */
  nextInMs(subscriptionId: string): Promise<number | null>;
}

/** Opens an organisation for applying its held credit. */
export type OpenAllocating = (organisationId: string) => AllocationScope;

/** Applying credit over a pool; `sealing` opens the connections' secrets. */
export function createAllocating(pool: pg.Pool, sealing: Encryption): OpenAllocating {
  return (organisationId) => ({
    connection: () => readConnection(pool, sealing, organisationId),
    pause: (pauseMs, reason) => pauseConnection(pool, organisationId, pauseMs, reason),
    reschedule: (subscriptionId, pauseMs, reason) =>
      rescheduleAllocation(pool, organisationId, subscriptionId, pauseMs, reason),
    plan: async (subscriptionId) => {
      const planned = await inTransaction(pool, (client) => planAllocations(client, organisationId, [subscriptionId]));
      return planned.length > 0;
    },
    take: (subscriptionId, leaseMs) => takeAllocation(pool, organisationId, subscriptionId, leaseMs),
    settle: (subscriptionId, settled) => recordAllocation(pool, organisationId, subscriptionId, settled),
    nextInMs: (subscriptionId) => readAllocationWait(pool, organisationId, subscriptionId),
  });
}
