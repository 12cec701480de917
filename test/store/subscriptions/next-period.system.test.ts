/**
 * What an end takes back of the next period where a document is refused, lost or removed by a
 * person, and what a restoration issues again. DOCUMENT-7, END-7, RESTORE-3, RESTORE-4.
 */
import { describe, expect } from "vitest";
import { loseDocuments } from "../../../src/store/ledger-sync/sync-invoices.ts";
import { operatorWrites } from "../../support/operator-writes.ts";
import { tables } from "../../support/rows.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import { usageTest as test, type UsageFixture } from "../billing/usage-fixture.ts";
import {
  billedSeparately,
  changeSeparately,
  documentsOf,
  endWhole,
  type InWindow,
  inWindow,
  postAll,
  refuseAll,
  removeByHand,
  volumeCredit,
} from "./next-period-builder.ts";

const first = "INV-0001 first approved 125.0000";

/** The ledger no longer shows these documents, neither by id nor by number. */
async function lose(
  { pool }: UsageFixture,
  { organisation }: InWindow,
  ...numbers: readonly string[]
) {
  const { rows } = await pool.query<{ id: string; at: string }>(
    `SELECT ledger_invoice_id AS id, clock_timestamp()::text AS at FROM invoices
      WHERE organisation_id = $1 AND number = ANY ($2)`,
    [organisation, numbers],
  );
  const ids = rows.map(({ id }) => id);
  return loseDocuments(pool, organisation, "invoices", ids, rows[0]?.at ?? "now");
}

async function retry({ pool }: UsageFixture, { organisation }: InWindow, number: string) {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT id FROM invoices WHERE organisation_id = $1 AND number = $2
      UNION ALL SELECT id FROM credit_notes WHERE organisation_id = $1 AND number = $2`,
    [organisation, number],
  );
  return operatorWrites(pool).retryDocument(organisation, rows[0]?.id ?? "");
}

const restore = ({ pool }: UsageFixture, { organisation, id, now }: InWindow) =>
  tenantWrites(pool, organisation).restore({ id, now });

describe("an end takes back nothing of a document that is nowhere", () => {
  test("a refused invoice bills the current period alone once it is retried", async ({
    fixture,
  }) => {
    const at = await billedSeparately(fixture);
    await refuseAll(fixture, at);
    await endWhole(fixture, at);
    const renewal = "INV-0002 renewal voided 125.0000";
    expect(await documentsOf(fixture, at)).toEqual([
      first,
      renewal,
      "INV-0003 change not_in_external 14.5200",
    ]);
    await retry(fixture, at, "INV-0003");
    await postAll(fixture, at);
    expect(await documentsOf(fixture, at)).toEqual([
      first,
      renewal,
      "INV-0003 change approved 14.5200",
    ]);
  });

  test("a refused credit note credits the current period alone once it is retried", async ({
    fixture,
  }) => {
    const at = await volumeCredit(fixture);
    await refuseAll(fixture, at);
    await endWhole(fixture, at);
    expect((await documentsOf(fixture, at)).slice(2)).toEqual(["CN-0001 not_in_external 4.0600"]);
    await retry(fixture, at, "CN-0001");
    expect((await documentsOf(fixture, at)).slice(2)).toEqual(["CN-0001 scheduled 4.0600"]);
  });

  test("a refused document of the next period alone is deleted", async ({ fixture }) => {
    const at = await inWindow(fixture);
    const request = { behaviour: null, effectiveDate: null, document: "separate" } as const;
    await tenantWrites(fixture.pool, at.organisation).changeUnits(at, {
      ...request,
      units: 14,
      prorate: false,
    });
    await refuseAll(fixture, at);
    await endWhole(fixture, at, "now");
    expect((await documentsOf(fixture, at)).slice(2)).toEqual(["INV-0003 change deleted 50.0000"]);
    await expect(retry(fixture, at, "INV-0003")).rejects.toThrow(/the ledger has it, or had it/);
  });

  test("a lost or removed invoice is billed by nothing and credited by nothing", async ({
    fixture,
  }) => {
    for (const isLost of [true, false]) {
      const at = await billedSeparately(fixture);
      await postAll(fixture, at);
      if (isLost) await lose(fixture, at, "INV-0003");
      else await removeByHand(fixture, at, "INV-0003");
      await endWhole(fixture, at);
      const status = isLost ? "not_in_external" : "voided";
      expect((await documentsOf(fixture, at)).slice(2)).toEqual([
        `INV-0003 change ${status} 64.5200`,
      ]);
    }
  });

  test("what stands is taken back once, also if a later change was refused", async ({
    fixture,
  }) => {
    const at = await billedSeparately(fixture);
    await postAll(fixture, at);
    await changeSeparately(fixture, at, 16);
    await refuseAll(fixture, at);
    await endWhole(fixture, at);
    expect((await documentsOf(fixture, at)).slice(2)).toEqual([
      "INV-0003 change approved 64.5200",
      "INV-0004 change not_in_external 7.2600",
      "CN-0001 scheduled 50.0000",
    ]);
  });

  test("where a person removed the renewal, what stands is taken back as it finishes", async ({
    fixture,
  }) => {
    const at = await billedSeparately(fixture);
    await postAll(fixture, at);
    await removeByHand(fixture, at, "INV-0002");
    await endWhole(fixture, at);
    expect((await documentsOf(fixture, at)).slice(1)).toEqual([
      "INV-0002 renewal voided 125.0000",
      "INV-0003 change approved 64.5200",
      "CN-0001 scheduled 50.0000",
    ]);
  });
});

describe("a restoration", () => {
  test("credits what a refused reversal was to credit, once", async ({ fixture }) => {
    const at = await billedSeparately(fixture);
    await postAll(fixture, at);
    await endWhole(fixture, at);
    await refuseAll(fixture, at);
    await restore(fixture, at);
    expect((await documentsOf(fixture, at)).slice(2)).toEqual([
      "INV-0003 change approved 64.5200",
      "CN-0001 deleted 50.0000",
      "INV-0004 renewal scheduled 175.0000",
      "CN-0002 scheduled 50.0000",
    ]);
  });

  test("issues no renewal invoice that a person has removed", async ({ fixture }) => {
    for (const when of ["period_end", "now"] as const) {
      const at = await inWindow(fixture);
      await removeByHand(fixture, at, "INV-0002");
      await endWhole(fixture, at, when);
      await restore(fixture, at);
      const removed = [first, "INV-0002 renewal voided 125.0000"];
      expect(await documentsOf(fixture, at)).toEqual(removed);
      await fixture.setClock(at.organisation, "2026-04-12");
      await fixture.bill(at.organisation);
      expect(await documentsOf(fixture, at)).toEqual(removed);
    }
  });

  test("issues the renewal that its end removed, also if the ledger shows it no more", async ({
    fixture,
  }) => {
    const at = await inWindow(fixture);
    await endWhole(fixture, at);
    expect(await lose(fixture, at, "INV-0002")).toMatchObject({ changed: 0, unfit: [] });
    await restore(fixture, at);
    const restored = [
      first,
      "INV-0002 renewal voided 125.0000",
      "INV-0003 renewal scheduled 125.0000",
    ];
    expect(await documentsOf(fixture, at)).toEqual(restored);
    expect(await lose(fixture, at, "INV-0002")).toMatchObject({ changed: 0, unfit: [] });
    expect(await documentsOf(fixture, at)).toEqual(restored);
  });

  test("issues again what two ends since the last restoration removed", async ({ fixture }) => {
    const at = await inWindow(fixture);
    await endWhole(fixture, at);
    await endWhole(fixture, at, "now", {
      deleteUnsentInvoices: false,
      voidApprovedInvoices: true,
    });
    await restore(fixture, at);
    expect(await documentsOf(fixture, at)).toEqual([
      "INV-0001 first voided 125.0000",
      "INV-0002 renewal voided 125.0000",
      "INV-0003 first scheduled 125.0000",
      "INV-0004 renewal scheduled 125.0000",
    ]);
  });
});

describe("the window after a person removed the renewal invoice", () => {
  test("bills a change for both periods, and the removed amount by nothing", async ({
    fixture,
  }) => {
    for (const isLost of [false, true]) {
      const at = await inWindow(fixture);
      if (isLost) await lose(fixture, at, "INV-0002");
      else await removeByHand(fixture, at, "INV-0002");
      await changeSeparately(fixture, at, 14);
      await fixture.setClock(at.organisation, "2026-04-12");
      await fixture.bill(at.organisation);
      const status = isLost ? "not_in_external" : "voided";
      expect(await documentsOf(fixture, at)).toEqual([
        first,
        `INV-0002 renewal ${status} 125.0000`,
        "INV-0003 change scheduled 64.5200",
      ]);
      const periods = await tables(fixture.pool).period.findMany({
        where: { subscriptionId: at.id },
      });
      expect(periods.map(({ billedUnits }) => billedUnits)).toEqual([14, 14]);
    }
  });
});
