/** The parts of test writers: their connections, their subscriptions and random picks. */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { AdminStore } from "../../../src/store/admin/admin-store.ts";
import { seeded } from "../../support/seeded.ts";

/** The parts of a writer. `ids` are the subscriptions that it writes. */
export interface WriterParts {
  readonly pool: pg.Pool;
  readonly organisationId: string;
  readonly ids: readonly string[];
  readonly admin: AdminStore;
}

/** A whole number from 0 to below `limit`. */
export const below = seeded();

/** A random one of the items. */
export function pick<T>(among: readonly T[]): T {
  const one = among[below(among.length)];
  if (one === undefined) throw new Error("nothing to pick from");
  return one;
}

/** A new id of the ledger. */
export function ledgerId(): string {
  return randomUUID();
}
