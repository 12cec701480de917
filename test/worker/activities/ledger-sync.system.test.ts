/**
 * The ledger sync on a real database and the demo ledger over HTTP: changes that a person makes in
 * the ledger are synced by notification or incremental sync, within the budget of calls.
 */
import { describe, expect } from "vitest";
import { createChanges } from "../../../src/store/admin/changes.ts";
import { createLedgerSyncAdminStore } from "../../../src/store/admin/ledger/ledger-sync.ts";
import { recordNotifications } from "../../../src/store/ledger-sync/record-notifications.ts";
import { createLedgerSync } from "../../../src/store/ledger-sync/sync-store.ts";
import { bookkeeper } from "../../support/bookkeeper.ts";
import { fromNow, setOrganisation, tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { bookedCredit, ourCredit } from "./issue-credit.ts";
import { syncIntervalMs, syncTest as test } from "./ledger-sync-fixture.ts";

describe.concurrent("a change in the ledger", () => {
  test("is synced: payments, voids, and credit added and removed", async ({
    credit,
    partyWith,
    syncAll,
    invoices,
  }) => {
    const { party, hand } = await partyWith("10", "20", "30", "-40");
    expect(await invoices(party)).toEqual([
      "INV-0001 approved 12.00",
      "INV-0002 approved 24.00",
      "INV-0003 approved 36.00",
    ]);
    await hand.pay("INV-0001");
    await hand.setStatus("INV-0002", "VOIDED");
    await hand.allocate("CN-0001", "INV-0003", "16");
    await syncAll(party);
    expect(await invoices(party)).toEqual([
      "INV-0001 paid 0.00",
      "INV-0002 voided 0.00",
      "INV-0003 approved 20.00",
    ]);
    expect(await ourCredit(credit.pool, party)).toEqual(await bookedCredit(credit.pool, party));
    await hand.takeBack("CN-0001");
    await hand.unpay("INV-0001");
    await syncAll(party);
    expect(await invoices(party)).toContain("INV-0001 approved 12.00");
    expect(await invoices(party)).toContain("INV-0003 approved 36.00");
    await hand.setStatus("CN-0001", "VOIDED");
    await syncAll(party);
    expect(await ourCredit(credit.pool, party)).toMatchObject([
      { number: "CN-0001", remaining: "0.00", allocations: [] },
    ]);
    // Unchanged objects are read again for a while and change nothing.
    const { rows } = await credit.pool.query(
      `SELECT invoices_changed + credit_notes_changed AS changed FROM ledger_sync_cursors
        WHERE organisation_id = $1`,
      [party.organisationId],
    );
    expect(rows).toEqual([{ changed: 1 }]);
  });

  test("is synced: a draft approved (gets held credit), deleted, or lost", async ({
    fixture,
    sync,
    credit,
    syncAll,
    notify,
    pending,
    ledgerIdOf,
    rest,
    invoices,
  }) => {
    const party = await credit.party();
    await credit.issue(party, "-40");
    await setOrganisation(credit.pool, party.organisationId, { firstInvoiceStatus: "draft" });
    await credit.issue(party, "10", "20", "30");
    await syncAll(party);
    const hand = bookkeeper(credit.pool, credit.demoUrl, party.tenantId);
    await hand.setStatus("INV-0001", "AUTHORISED");
    await hand.setStatus("INV-0002", "DELETED");
    await syncAll(party);
    expect(fixture.credited).toContain(party.subscriptionId);
    await credit.allocate(party);
    expect(await invoices(party)).toEqual([
      "INV-0001 paid 0.00",
      "INV-0002 deleted 0.00",
      "INV-0003 draft 36.00",
    ]);
    expect(await ourCredit(credit.pool, party)).toEqual(await bookedCredit(credit.pool, party));

    const text = `DELETE FROM demo_ledger.invoices WHERE tenant_id = $1 AND number = 'INV-0003'
        RETURNING invoice_id AS id`;
    const { rows } = await credit.pool.query<{ id: string }>(text, [party.tenantId]);
    const notification = {
      tenantId: party.tenantId,
      kind: "invoices",
      ledgerId: rows[0]?.id ?? "",
      changedAt: null,
    } as const;
    // Other tenants, and foreign documents in ours, wake no workflow.
    const others = [
      { ...notification, tenantId: crypto.randomUUID() },
      { ...notification, ledgerId: crypto.randomUUID() },
    ];
    expect(await recordNotifications(credit.pool, "xero", others)).toEqual([]);
    expect(await recordNotifications(credit.pool, "xero", [...others, notification])).toEqual([
      party.organisationId,
    ]);
    await rest(party);
    expect(await invoices(party)).toContain("INV-0003 not_in_external 36.00");
    // A document is not lost while its number is on another document.
    const other = await ledgerIdOf(party, "INV-0001");
    await tables(credit.pool).invoice.updateMany({
      where: { organisationId: party.organisationId, number: "INV-0001" },
      data: { ledgerInvoiceId: crypto.randomUUID() },
    });
    await notify(party, "invoices", await ledgerIdOf(party, "INV-0001"));
    expect(await sync.syncBatch(party)).toMatchObject({
      detail: expect.stringContaining(", 1 cannot be synced"),
    });
    expect(await invoices(party)).toContain("INV-0001 paid 0.00");
    expect(await pending(party)).toEqual(["0 another document in the ledger has its number"]);
    await tables(credit.pool).invoice.updateMany({
      where: { organisationId: party.organisationId, number: "INV-0001" },
      data: { ledgerInvoiceId: other },
    });
    await notify(party, "invoices");
    await rest(party);
  });

  test("is synced past objects that cannot be parsed, which are read again", async ({
    fixture,
    sync,
    credit,
    partyWith,
    setDue,
    notify,
    pending,
    ledgerIdOf,
    rest,
    invoices,
  }) => {
    const { party, hand } = await partyWith("10", "20");
    await hand.pay("INV-0001");
    await hand.setStatus("INV-0002", "VOIDED");
    const id = await ledgerIdOf(party, "INV-0001");
    const body = JSON.stringify({
      Invoices: [
        { InvoiceID: id, Status: "UNHEARD" },
        { InvoiceID: crypto.randomUUID() },
        { Status: "UNHEARD" },
      ],
    });
    await credit.fault(party, {
      match: "GET /api.xro/2.0/Invoices",
      kind: "status",
      status: 200,
      body,
      times: 2,
    });
    await setDue(party);
    const { organisationId } = party;
    await until("all readable objects are read", async () =>
      /cannot be synced/.test((await sync.syncBatch(party)).detail),
    );
    const reason = "the ledger's answer about it cannot be parsed";
    expect(await pending(party)).toEqual([`0 ${reason}`]);
    expect(fixture.skipped).toContainEqual({ organisationId, kind: "invoices", ids: [id], reason });
    const views = createLedgerSyncAdminStore(credit.pool, createChanges(credit.pool));
    expect(await views.get(organisationId)).toMatchObject({
      notifications: 1,
      notificationsProblem: `1 cannot be read: ${reason}`,
    });
    expect(fixture.skipped).toContainEqual({
      organisationId,
      kind: "invoices",
      ids: [],
      reason: "1 of a page cannot be read and have no id",
    });
    const actor = {
      operatorId: null,
      operatorName: "Olga",
      tokenId: null,
      operation: "test",
      requestId: null,
    };
    expect(await views.request(actor, organisationId)).not.toBeNull();
    await rest(party);
    expect(await invoices(party)).toEqual(["INV-0001 paid 0.00", "INV-0002 voided 0.00"]);

    // Failing notifications do not stop an incremental sync.
    await hand.unpay("INV-0001");
    await credit.fault(party, {
      match: "GET /api.xro/2.0/Invoices?IDs",
      kind: "status",
      status: 500,
      times: 1,
    });
    await notify(party, "invoices", id);
    await setDue(party);
    await until("the incremental sync is over", async () => {
      await sync.syncBatch(party);
      return (await invoices(party)).includes("INV-0001 approved 12.00");
    });
    expect(await pending(party)).toEqual(["1 the ledger answered 500"]);

    // A failing notification that is requested alone delays nothing else.
    await credit.fault(party, {
      match: "GET /api.xro/2.0/Invoices?IDs",
      kind: "status",
      status: 500,
      times: 1,
    });
    await tables(credit.pool).ledgerNotification.updateMany({
      where: { organisationId },
      data: { failures: 2 },
    });
    await notify(party, "invoices");
    expect(await sync.syncBatch(party)).toMatchObject({
      detail: "waits: the ledger answered 500",
    });
    expect(await pending(party)).toEqual(["3 the ledger answered 500"]);
    expect(
      await createLedgerSync(credit.pool, credit.encryption, syncIntervalMs)
        .open(organisationId)
        .state(),
    ).toMatchObject({
      waitMs: 0,
    });
    await notify(party, "invoices");
    await rest(party);
    expect(await pending(party)).toEqual([]);
    expect(await views.get(organisationId)).toMatchObject({
      notifications: 0,
      notificationsProblem: null,
      problem: null,
    });
  });
});

test("a failed call is repeated later, and a rate limit pauses the sync", async ({
  fixture,
  sync,
  credit,
  partyWith,
  setDue,
  notify,
  ledgerIdOf,
  rest,
  invoices,
}) => {
  const { party, hand } = await partyWith("10");
  const { organisationId } = party;
  await hand.pay("INV-0001");
  await setDue(party);
  await credit.fault(party, { match: "GET /api.xro/2.0/Contacts", kind: "status", status: 503 });
  expect(await sync.syncBatch({ organisationId })).toMatchObject({
    state: "waiting",
    detail: "waits: the ledger answered 503",
    nextInMs: 1_000,
  });
  await credit.pool.query(
    `UPDATE ledger_sync_cursors SET not_before = not_before + interval '1 hour'
      WHERE organisation_id = $1`,
    [organisationId],
  );
  expect(await sync.syncBatch({ organisationId })).toMatchObject({
    detail: "waits: the ledger answered 503",
  });
  // Notifications are read before the failed page.
  await tables(credit.pool).ledgerSyncCursor.updateMany({
    where: { organisationId },
    data: { notBefore: new Date(), nextSyncAt: fromNow(60) },
  });
  await notify(party, "invoices", await ledgerIdOf(party, "INV-0001"));
  await sync.syncBatch({ organisationId });
  expect(await invoices(party)).toEqual(["INV-0001 paid 0.00"]);
  expect(
    await createLedgerSyncAdminStore(credit.pool, createChanges(credit.pool)).get(organisationId),
  ).toMatchObject({
    isWaiting: true,
    problem: "the ledger answered 503",
    notifications: 0,
  });
  await setDue(party);
  await credit.fault(party, {
    match: "GET /api.xro/2.0/Contacts",
    kind: "rate_limit",
    problem: "day",
    retryAfterSeconds: 7_200,
  });
  expect(await sync.syncBatch({ organisationId })).toMatchObject({
    detail: "paused: day limit",
    nextInMs: 7_200_000,
  });
  expect(await sync.startDueSyncs({ after: null })).toMatchObject({ next: null });
  expect(fixture.woken).not.toContain(organisationId);
  await tables(credit.pool).ledgerConnection.updateMany({
    where: { organisationId },
    data: { pausedUntil: null },
  });
  await sync.startDueSyncs({ after: null });
  expect(fixture.woken).toContain(organisationId);
  await rest(party);
  expect(await invoices(party)).toEqual(["INV-0001 paid 0.00"]);
});
