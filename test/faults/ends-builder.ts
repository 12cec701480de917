/**
 * Subscriptions with invoices to remove, ends of them as a client asks for them, and what must
 * stand once everything is decided.
 */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { checkedAsk } from "../scenario/checked-ask.ts";
import { type LifeBuilder, lifeBuilder } from "../scenario/life-builder.ts";
import { tables } from "../support/rows.ts";
import type { TestSystem } from "../support/system.ts";
import type { Post } from "./processes.ts";

/** A subscription of a sandbox on 16 April, inside its invoice window. */
export interface Endable {
  readonly own: CreatedOrganisation;
  readonly id: string;
}

/** Ends and their outcomes over a system. */
export interface EndsBuilder {
  readonly builder: LifeBuilder;
  /**
   * With a renewal invoice, a separate change and its first invoice, all drafts in the ledger:
   * three to remove.
   */
  withThree(): Promise<Endable>;
  /** With a deferred charge and no renewal invoice: nothing to remove, and something to bill. */
  withDeferred(): Promise<Endable>;
  /**
   * What its ends did to each invoice, in order. One whose answer was lost, as a slow machine can
   * lose it, is found removed: as if it were answered.
   */
  removals(endable: Endable): Promise<readonly string[]>;
  /**
   * Holds that it ended once, with everything removed that was to be, and that the ledger has the
   * same.
   */
  expectEnded(endable: Endable): Promise<void>;
}

const half = { prorate: true, effective_date: "2026-04-16" };

/** Ends over a system. */
export function endsBuilder(system: TestSystem): EndsBuilder {
  const builder = lifeBuilder(system, checkedAsk(system));
  const sandbox = async (changes: Record<string, unknown>): Promise<CreatedOrganisation> => {
    const own = await builder.sandbox(changes);
    await builder.setClock(own, "2026-04-16");
    return own;
  };
  return {
    builder,
    withThree: async () => {
      const own = await sandbox({ invoice_create_days: 20 });
      const { id } = await builder.subscribe(own, { start_date: "2026-04-01" });
      await builder.changed(own, id, { units: 12, ...half, document: "separate" });
      await builder.posted(own);
      return { own, id };
    },
    withDeferred: async () => {
      const own = await sandbox({});
      const { id } = await builder.subscribe(own, { start_date: "2026-04-01" });
      await builder.changed(own, id, {
        units: 12,
        ...half,
        proration_behaviour: "charge_on_renewal",
      });
      return { own, id };
    },
    removals: async ({ own, id }) =>
      (await builder.removals(own, id)).map((shown) => shown.replace("already_removed", "deleted")),
    expectEnded: async ({ own, id }) => {
      const { pool } = system;
      await builder.expectEqualDocuments(own);
      expect(await builder.subscription(own, id)).toMatchObject({
        status: "ended",
        end_date: "2026-04-16",
      });
      const rows = await tables(pool).termination.findMany({
        where: { subscriptionId: id },
        select: { ended: true },
      });
      expect(rows).toEqual([{ ended: true }]);
      const unbilled = { subscriptionId: id, invoiceId: null };
      expect(await tables(pool).deferredLine.count({ where: unbilled })).toBe(0);
      expect(await tables(pool).subscription.findMany({ where: { id } })).toMatchObject([
        { dueAt: null },
      ]);
    },
  };
}

/** An end `now` that deletes what was never sent. */
export function endPost({ own, id }: Endable, idempotencyKey: string): Post {
  const body = { when: "now", delete_unsent_invoices: true };
  return { path: `/v1/subscriptions/${id}/end`, key: own.apiKey, idempotencyKey, body };
}

/** What the three invoices of `withThree` come to, in the order of their removal. */
export const threeRemoved = [
  "INV-0002 removed deleted",
  "INV-0003 removed deleted",
  "INV-0001 removed deleted",
];
