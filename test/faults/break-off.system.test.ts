/**
 * Ends and amendments that wait for a ledger which does not come back, and an operator who breaks
 * them off. END-12, UNITS-14, ADMIN-15.
 */
import { describe, expect } from "vitest";
import { type AdminAsk, askWith, codeOf } from "../admin/services/request.ts";
import { refusalOf, refused } from "../scenario/checked-ask.ts";
import { aloneTest } from "../scenario/fixtures.ts";
import type { Json } from "../scenario/units-builder.ts";
import { perFile } from "../support/file-fixture.ts";
import { newestJob, tables } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import { type Endable, type EndsBuilder, endPost } from "./ends-builder.ts";
import { endPause } from "./ledger-documents.ts";
import { post, postUntilDecided } from "./processes.ts";

const test = aloneTest.extend("admin", perFile, async ({ system }) =>
  askWith(system, await system.operator("owner", "Olga")),
);

const service = (method: string) => `SubscriptionService/${method}`;
const why = { reason: "The ledger was closed" };
const named = ({ own, id }: Endable) => ({ organisation: own.organisationId, id });
const halfApril = { prorate: true, effective_date: "2026-04-16" };

/** Lets the service call the organisation's ledger no more, or again. */
async function pause({ pool }: TestSystem, { own }: Endable): Promise<void> {
  const text = `UPDATE ledger_connections SET paused_until = now() + interval '1 day',
    paused_reason = 'closed' WHERE organisation_id = $1`;
  await pool.query(text, [own.organisationId]);
}

/** The documents of a break-off without their ids and numbers: what a preview knows of them. */
const planned = ({ documents = [] }: Json) =>
  documents.map(({ id: _, number: __, ...known }: Json) => known);

/** Breaks off as previewed. */
async function brokenOff(admin: AdminAsk, endable: Endable): Promise<Json> {
  const { breakOff: preview } = await admin.done(service("PreviewBreakOff"), named(endable));
  const done = await admin.done(service("BreakOff"), { ...named(endable), ...why });
  expect(done.breakOff.message).toBe(preview.message);
  expect(done.breakOff.running).toBe(preview.running);
  expect(planned(done.breakOff)).toEqual(planned(preview));
  return done;
}

/** Reads the ledger until our invoice has this status. */
async function shown(admin: AdminAsk, endable: Endable, number: string, status: string) {
  const { organisation } = named(endable);
  return until(`${number} is shown as ${status}`, async () => {
    await admin.done("LedgerSyncService/SyncLedger", { organisation });
    const { data } = await admin.done("InvoiceService/ListInvoices", { organisation, limit: 100 });
    return data.some((one: Json) => one.number === number && one.status === status);
  });
}

/** What the standing invoices come to, less the credit notes. */
async function billed({ builder }: EndsBuilder, { own, id }: Endable): Promise<number> {
  const standing = (all: readonly Json[]) =>
    all.filter(({ status }) => status !== "voided" && status !== "deleted");
  const sum = (all: readonly Json[]) =>
    standing(all).reduce((total, { subtotal }) => total + Number(subtotal), 0);
  return sum(await builder.invoices(own, id)) - sum(await builder.creditNotes(own, id));
}

const stateOfEnd = async ({ pool }: TestSystem, { id }: Endable) => {
  const { state, reason } =
    (await newestJob(pool, { subscriptionId: id, kind: "end_subscription" })) ?? {};
  return { state, reason };
};

test("a broken-off end lets the subscription renew and Setup Mode be switched", async ({
  system,
  admin,
  ends,
}) => {
  const endable = await ends.withThree();
  const { own, id } = endable;
  const { organisation } = named(endable);
  await admin.done("LedgerConnectionService/DisconnectLedger", { organisation });
  const first = await post(system.baseUrl, endPost(endable, "the-key"));
  expect(first && refusalOf(first)).toEqual(refused(502, "ledger_unavailable"));
  const setup = (setupMode: boolean) => ({ id: organisation, setupMode });
  const switched = "OrganisationService/SetSetupMode";
  expect(await admin.refused(switched, setup(true))).toBe("invalid_state");
  const done = await brokenOff(admin, endable);
  expect(done.breakOff).toEqual({
    running: "the subscription is being ended, 0 of 3 invoices removed in the ledger so far",
    message:
      "An operator broke off the end, which waited for the ledger. The subscription goes on.",
  });
  expect(done.subscription).toMatchObject({ id, status: "SUBSCRIPTION_STATUS_ACTIVE" });
  expect(await stateOfEnd(system, endable)).toEqual({ state: "refused", reason: "broken_off" });
  // The caller that waited gets the refusal.
  const again = await post(system.baseUrl, endPost(endable, "the-key"));
  expect(again && refusalOf(again)).toEqual(refused(409, "invalid_state"));
  expect(again?.json.error.message).toBe(done.breakOff.message);
  await admin.done(switched, setup(true));
  await admin.done(switched, setup(false));
  await ends.builder.setClock(own, "2026-05-02");
  await admin.done("BillingService/RunBilling", { organisation });
  await until("it is renewed", async () => {
    const { status, renewal_date: date } = await ends.builder.subscription(own, id);
    return status === "active" && date === "2026-06-01";
  });
  expect(await admin.refused(service("BreakOff"), { ...named(endable), ...why })).toBe(
    "invalid_state",
  );
});

describe.concurrent("a broken-off end", () => {
  test("keeps what it removed, and issues its renewal invoice again", async ({
    system,
    admin,
    ends,
  }) => {
    const endable = await ends.withThree();
    const { own } = endable;
    const [, , first] = await ends.builder.invoices(own, endable.id);
    const element = first.ledger.invoice_id;
    await system.fault({ kind: "status", status: 503, times: 10_000, match: element });
    const waiting = post(system.baseUrl, endPost(endable, "the-key"));
    await until("two of three are removed", async () => {
      const removals = await ends.removals(endable);
      return removals.filter((one) => one.includes("removed")).length === 2;
    });
    const { breakOff } = await brokenOff(admin, endable);
    const answered = await waiting;
    expect(answered && refusalOf(answered)).toEqual(refused(409, "invalid_state"));
    expect(answered?.json.error.message).toBe(breakOff.message);
    expect(breakOff.message).toContain("Removed already, and staying so: INV-0002, INV-0003.");
    expect(breakOff.documents).toEqual([
      expect.objectContaining({
        number: "INV-0004",
        type: "INVOICE_TYPE_RENEWAL",
        subtotal: "120.0000",
      }),
    ]);
    await system.clearFaults();
    await ends.builder.posted(own);
    expect(await ends.removals(endable)).toEqual([
      "INV-0002 removed deleted",
      "INV-0003 removed deleted",
      "INV-0001 refused",
    ]);
    expect(await ends.builder.standing(own, endable.id)).toMatchObject([
      ["INV-0001 first", expect.anything()],
      ["INV-0004 renewal", expect.stringMatching(/^120\.0000 /)],
    ]);
    await ends.builder.expectEqualDocuments(own);
    // The invoice that the end no longer removes stays, whatever became of the tries.
    expect((await stateOfEnd(system, endable))?.state).toBe("refused");
  });

  test("is audited once and its repeat answers the same, also with another request", async ({
    system,
    admin,
    ends,
  }) => {
    const endable = await ends.withThree();
    await pause(system, endable);
    await post(system.baseUrl, endPost(endable, "the-key"));
    const request = { ...named(endable), ...why };
    const asked = { idempotencyKey: `break-off-${endable.id}` };
    const both = await Promise.all([
      system.askAdmin(`${service("BreakOff")}`, { key: "op_none", body: request }),
      admin.ask(service("BreakOff"), request),
      admin.ask(service("BreakOff"), request),
    ]);
    expect(codeOf(both[0])).toBe("invalid_operator_token");
    expect(
      both
        .slice(1)
        .map(({ status }) => status)
        .sort(),
    ).toEqual([200, 400]);
    await endPause(system, endable.own.organisationId);
    await pause(system, endable);
    await post(system.baseUrl, endPost(endable, "the-second-key"));
    const done = await admin.done(service("BreakOff"), request, asked);
    await tables(system.pool).idempotencyKey.deleteMany({ where: { key: asked.idempotencyKey } });
    const repeated = await admin.done(service("BreakOff"), request, asked);
    expect(repeated.breakOff).toEqual(done.breakOff);
    const { data } = await admin.done("AuditService/ListAuditEntries", { target: endable.id });
    const entries = data.filter(({ operation }: Json) => operation.endsWith("/BreakOff"));
    expect(entries.map(({ operatorName, after }: Json) => [operatorName, after.reason])).toEqual([
      ["Olga", why.reason],
      ["Olga", why.reason],
    ]);
    await endPause(system, endable.own.organisationId);
    await ends.builder.expectEqualDocuments(endable.own);
  });

  test("needs the role admin and a reason, and its preview the least role", async ({
    system,
    admin,
    ends,
  }) => {
    const endable = await ends.withDeferred();
    const reader = askWith(system, await system.operator("read-only", "Rita"));
    const request = { ...named(endable), ...why };
    expect(await reader.refused(service("BreakOff"), request)).toBe("insufficient_role");
    expect(await admin.refused(service("BreakOff"), named(endable))).toBe(
      "invalid_parameter reason",
    );
    expect(await reader.refused(service("PreviewBreakOff"), named(endable))).toBe("invalid_state");
    const other = await system.organisation();
    const elsewhere = { ...request, organisation: other.organisationId };
    expect(await admin.refused(service("BreakOff"), elsewhere)).toBe("subscription_not_found");
    expect(await admin.refused(service("BreakOff"), { ...request, id: "x" })).toBe(
      "subscription_not_found",
    );
  });
});

describe("a removal whose answer was lost, of an end that was broken off", () => {
  test.for([
    ["2026-04-16", "2026-05-01", "120.0000"],
    ["2026-05-02", "2026-06-01", "100.0000"],
  ] as const)("is that end's when it shows on %s, and is issued again", async ([
    day,
    renewalDate,
    subtotal,
  ], { system, admin, ends }) => {
    const endable = await ends.withThree();
    const { own, id } = endable;
    await system.worker.stop();
    const waiting = post(system.baseUrl, endPost(endable, "the-key"));
    void system.worker.start({ BILLING_CRASH_AT: "removal_answered" }).catch(() => undefined);
    await system.worker.exited();
    const done = await brokenOff(admin, endable);
    expect(done.breakOff.message).toMatch(
      /Whether the ledger has removed invoice INV-0002 is not known\.$/,
    );
    expect(done.breakOff.documents ?? []).toEqual([]);
    expect(await stateOfEnd(system, endable)).toEqual({ state: "refused", reason: "answer_lost" });
    await waiting;
    await ends.builder.setClock(own, day);
    await system.worker.start();
    await admin.done("BillingService/RunBilling", { organisation: own.organisationId });
    await until("what was due is billed", async () => {
      const { renewal_date: date } = await ends.builder.subscription(own, id);
      return date === renewalDate;
    });
    await shown(admin, endable, "INV-0002", "DOCUMENT_STATUS_DELETED");
    const renewal = await until("it is issued again", async () => {
      const invoices = await ends.builder.invoices(own, id);
      return invoices.find(({ type, status }) => type === "renewal" && status === "draft");
    });
    expect(renewal.subtotal).toBe(subtotal);
    // April at ten units, the two more of its half, and May at twelve: billed once.
    expect(await billed(ends, endable)).toBe(100 + 10 + 120);
    expect(renewal.period).toEqual({ start: "2026-05-01", end: "2026-06-01" });
    expect((await ends.removals(endable))[0]).toBe("INV-0002 removed deleted");
    await ends.builder.expectEqualDocuments(own);
  });

  test("that a person removes later stays removed if the ledger was never called", async ({
    system,
    admin,
    ends,
  }) => {
    const endable = await ends.withThree();
    const { own, id } = endable;
    await pause(system, endable);
    await post(system.baseUrl, endPost(endable, "the-key"));
    await brokenOff(admin, endable);
    const text = `UPDATE demo_ledger.invoices SET status = 'DELETED', updated_at = now()
      WHERE tenant_id = $1 AND number = 'INV-0002'`;
    await system.pool.query(text, [own.tenantId]);
    await endPause(system, own.organisationId);
    await shown(admin, endable, "INV-0002", "DOCUMENT_STATUS_DELETED");
    await admin.done("LedgerSyncService/SyncLedger", { organisation: own.organisationId });
    expect((await ends.removals(endable))[0]).toBe("INV-0002 refused");
    const invoices = await ends.builder.invoices(own, id);
    expect(invoices.map(({ number }) => number)).toEqual(["INV-0003", "INV-0002", "INV-0001"]);
  });
});

test("a broken-off amendment is billed on a separate document", async ({
  system,
  admin,
  ends,
  builder,
}) => {
  const endable = await ends.withThree();
  const { own } = endable;
  const { id } = await builder.subscribe(own, { start_date: "2026-04-01" });
  const amended = { own, id };
  const [renewal] = await builder.invoices(own, id);
  await pause(system, endable);
  const body = { units: 13, ...halfApril, document: "amend" };
  const request = { path: `/v1/subscriptions/${id}/units`, key: own.apiKey, body };
  await post(system.baseUrl, { ...request, idempotencyKey: "amend" });
  const refusedToo = await builder.change(own, id, { units: 14, document: "separate" });
  expect(refusalOf(refusedToo)).toEqual(refused(409, "invalid_state"));
  const { breakOff } = await brokenOff(admin, amended);
  expect(breakOff.running).toBe(`invoice ${renewal.number} is being amended in the ledger`);
  expect(breakOff.documents).toEqual([
    expect.objectContaining({ type: "INVOICE_TYPE_CHANGE", subtotal: "45.0000" }),
  ]);
  await endPause(system, own.organisationId);
  const repeated = await postUntilDecided(system.baseUrl, { ...request, idempotencyKey: "amend" });
  expect([repeated.status, repeated.json.units], repeated.text).toEqual([200, 13]);
  await builder.expectEqualDocuments(own);
  const [own2, shownRenewal] = await builder.invoices(own, id);
  expect(own2).toMatchObject({ type: "change", subtotal: "45.0000", status: "draft" });
  expect(shownRenewal).toMatchObject({ id: renewal.id, subtotal: "100.0000" });
});
