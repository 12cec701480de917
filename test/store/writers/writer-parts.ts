/** What the writers of tests share: where they write, and how they pick what. */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { AdminStore } from "../../../src/store/admin/admin-store.ts";

/** What writers work with; `ids` are the subscriptions that they write. */
export interface WriterParts {
  readonly pool: pg.Pool;
  readonly organisationId: string;
  readonly ids: readonly string[];
  readonly admin: AdminStore;
}

/** A whole number from 0 to below `limit`. */
export function below(limit: number): number {
  return Math.floor(Math.random() * limit);
}

/** One of them. */
export function pick<T>(among: readonly T[]): T {
  const one = among[below(among.length)];
  if (one === undefined) throw new Error("nothing to pick from");
  return one;
}

/** An id of the ledger. */
export function ledgerId(): string {
  return randomUUID();
}
