/** Two operators at one object: an act is refused if its preview is out of date. ADMIN-22 */
import { expect } from "vitest";
import type { Json } from "../../../scenario/units-builder.ts";
import { addMeter, usageBuilder } from "../../../scenario/usage-builder.ts";
import { tables } from "../../../support/rows.ts";
import { until } from "../../../support/system.ts";
import { april, documentsTest as test, whole } from "../documents/documents-fixture.ts";
import { type AdminAsk, askWith } from "../request.ts";

const service = (method: string) => `SubscriptionService/${method}`;
const reason = "By telephone";
const changed = "It was changed since the preview. Preview it again.";

const messageOf = ({ json }: Json): string => json.details?.[0]?.debug.message;

/** Sends both at once. Exactly one is done. Returns the message of the other one's refusal. */
async function raced(first: Promise<Json>, second: Promise<Json>): Promise<string> {
  const answers = await Promise.all([first, second]);
  expect(answers.map(({ status }) => status === 200).toSorted()).toEqual([false, true]);
  return messageOf(answers.find(({ status }) => status !== 200));
}

test("of two operators who change units after one preview each, one is refused", async ({
  system,
  admin,
  builder,
  sandbox,
}) => {
  const made = await sandbox({ first_invoice_status: "approved" });
  const { id } = await builder.subscribe(made, april);
  const other = askWith(system, await system.operator("admin", "Ada"));
  const named = { organisation: made.organisationId, id };
  const half = { prorate: true, effectiveDate: "2026-04-16" };
  const change = async (by: AdminAsk, units: number): Promise<object> => {
    const wanted = { ...named, ...half, units };
    const { previewedState } = await by.done(service("PreviewChangeUnits"), wanted);
    return { ...wanted, previewedState, reason };
  };
  const [twelve, fifteen] = [await change(admin, 12), await change(other, 15)];
  const method = service("ChangeUnits");
  expect(await raced(admin.ask(method, twelve), other.ask(method, fifteen))).toBe(changed);
  await builder.posted(made);
  const invoices = await builder.invoices(made, id);
  expect(invoices.map(({ type }) => type)).toEqual(["change", "first"]);
  await builder.expectEqualDocuments(made);
  // A new preview is of the new state.
  await admin.done(method, await change(admin, 20));
});

test("of two operators who create for one customer, one is refused", async ({
  system,
  admin,
  builder,
  sandbox,
}) => {
  const made = await sandbox();
  const other = askWith(system, await system.operator("admin", "Ada"));
  const order = {
    organisation: made.organisationId,
    customerCode: "ACME",
    planCode: "team",
    units: 5,
  };
  const method = service("CreateSubscription");
  const { previewedState } = await admin.done(service("PreviewCreateSubscription"), order);
  const body = { ...order, previewedState, reason };
  expect(await raced(admin.ask(method, body), other.ask(method, body))).toBe(changed);
  await builder.posted(made);
  await builder.expectEqualDocuments(made);
  const { data } = await admin.done(service("ListSubscriptions"), {
    organisation: made.organisationId,
  });
  expect(data).toHaveLength(1);
});

test("an end and a restoration are refused after another act, and a repeat is not", async ({
  admin,
  builder,
  sandbox,
  system,
}) => {
  const made = await sandbox();
  const { id } = await builder.subscribe(made, april);
  const named = { organisation: made.organisationId, id };
  const end = { ...named, when: "END_WHEN_PERIOD_END" };
  const before = await admin.done(service("PreviewEndSubscription"), end);
  await admin.done(service("ChangeUnits"), { ...named, units: 12, reason });
  const late = { ...end, previewedState: before.previewedState, reason };
  expect(messageOf(await admin.ask(service("EndSubscription"), late))).toBe(changed);
  expect((await builder.subscription(made, id)).cancel_at_period_end).toBe(false);
  const { previewedState } = await admin.done(service("PreviewEndSubscription"), end);
  const asked = { idempotencyKey: "end-as-previewed" };
  const ends = { ...end, previewedState, reason };
  const first = await admin.done(service("EndSubscription"), ends, asked);
  // Also after the stored answer is gone.
  await tables(system.pool).idempotencyKey.deleteMany({ where: { key: asked.idempotencyKey } });
  expect(await admin.done(service("EndSubscription"), ends, asked)).toEqual(first);
  const shown = await admin.done(service("PreviewRestoreSubscription"), named);
  const restore = { ...named, previewedState: shown.previewedState, reason };
  await admin.done(service("RestoreSubscription"), restore);
  expect(messageOf(await admin.ask(service("RestoreSubscription"), restore))).toBe(changed);
});

test("what the ledger accepts and usage that is reported are no change", async ({
  admin,
  builder,
  sandbox,
}) => {
  const made = await sandbox({ first_invoice_status: "approved" });
  const { id } = await builder.subscribe(made, april);
  const named = { organisation: made.organisationId, id };
  await admin.done(service("ChangeUnits"), {
    ...named,
    units: 12,
    prorate: true,
    effectiveDate: whole.effective_date,
    reason,
  });
  const wanted = { ...named, units: 13 };
  const { previewedState } = await admin.done(service("PreviewChangeUnits"), wanted);
  await builder.posted(made);
  await admin.done(service("ChangeUnits"), { ...wanted, previewedState, reason });
});

test("a retry sends what its preview shows, and is refused after another one", async ({
  system,
  admin,
  builder,
  sandbox,
  map,
  synced,
  list,
}) => {
  const made = await sandbox();
  await map(made, "999");
  const { invoice } = await builder.subscribe(made, april);
  const named = { organisation: made.organisationId, id: invoice.id };
  const preview = (): Promise<Json> => admin.done("DocumentService/PreviewRetryDocument", named);
  const stale = await preview();
  expect(stale).toMatchObject({ job: "DOCUMENT_JOB_CREATION", lines: [{ revenueAccount: "999" }] });
  const { attempts } = await admin.done("DocumentService/GetDocument", named);
  expect(attempts).toMatchObject([
    { outcome: "ATTEMPT_OUTCOME_REFUSED", job: "DOCUMENT_JOB_CREATION", reason: "account_invalid" },
  ]);
  expect(attempts[0].message).toContain("999");
  expect(attempts[0].httpStatus).toBeGreaterThanOrEqual(200);
  // A new mapping is another thing to send.
  await map(made, "260");
  const retry = (previewedState: string) =>
    admin.ask("DocumentService/RetryDocument", { ...named, previewedState });
  expect(messageOf(await retry(stale.previewedState))).toBe(changed);
  expect(await list(made)).toHaveLength(1);
  const { lines, previewedState, takesNextNumber } = await preview();
  expect(takesNextNumber).toBeUndefined();
  expect(lines).toMatchObject([{ revenueAccount: "260", taxType: "OUTPUT2", mappedAgain: true }]);
  expect(await raced(retry(previewedState), retry(previewedState))).toBe(changed);
  await synced(made, invoice.id);
  const sent = await tables(system.pool).invoiceLine.findMany({ where: { invoiceId: invoice.id } });
  expect(sent).toMatchObject([{ revenueAccount: "260" }]);
  expect(await admin.refused("DocumentService/PreviewRetryDocument", named)).toBe("invalid_state");
});

test("a void leaves what its preview shows, and other usage is no change", async ({
  system,
  admin,
  builder,
  sandbox,
}) => {
  const made = await sandbox({ usage_allowed: true });
  await addMeter(system.pool, made.organisationId);
  const { id } = await builder.subscribe(made, april);
  const event = (name: string, quantity: string) => ({
    event_id: `${name}-${id}`,
    subscription: id,
    meter_code: "api-calls",
    quantity,
    timestamp: "2026-04-02T00:00:00Z",
  });
  const usage = usageBuilder(system.ask);
  await usage.stored(made, [event("a", "10"), event("b", "5")]);
  const named = { organisation: made.organisationId, id: `b-${id}` };
  const preview = await admin.done("UsageService/PreviewVoidUsageEvent", named);
  expect(preview).toMatchObject({
    event: { id: named.id, quantity: "5.0000" },
    before: { events: "2", quantity: "15.0000", amount: "7.5000" },
    after: { events: "1", quantity: "10.0000", amount: "5.0000" },
    currency: "NZD",
  });
  const method = "UsageService/VoidUsageEvent";
  const order = { ...named, reason };
  const wrong = await admin.ask(method, { ...order, previewedState: "another" });
  expect(messageOf(wrong)).toBe(changed);
  await usage.stored(made, [event("c", "1")]);
  const act = () => admin.ask(method, { ...order, previewedState: preview.previewedState });
  expect(await raced(act(), act())).toBe(changed);
  const { data } = await admin.done("UsageService/ListUsage", {
    organisation: made.organisationId,
    subscription: id,
  });
  expect(data).toMatchObject([{ events: "2", quantity: "11.0000" }]);
});

test("a switch of Setup Mode has its preview's effects, once of two operators", async ({
  admin,
  sandbox,
}) => {
  const { organisationId: id } = await sandbox();
  const wanted = { id, setupMode: true };
  const { previewedState, ...preview } = await admin.done(
    "OrganisationService/PreviewSetSetupMode",
    wanted,
  );
  const act = () => admin.ask("OrganisationService/SetSetupMode", { ...wanted, previewedState });
  const first = await act();
  expect(first.json).toMatchObject({ changed: true, effects: preview.effects });
  expect(preview.dueSubscriptions).toBeUndefined();
  expect(messageOf(await act())).toBe(changed);
  const again = await admin.done("OrganisationService/PreviewSetSetupMode", wanted);
  expect(again.changed).toBeUndefined();
});

test("an advance of the clock performs what its preview shows, once of two operators", async ({
  admin,
  builder,
  sandbox,
}) => {
  const made = await sandbox({ invoice_create_days: 3 });
  await builder.subscribe(made, april);
  await builder.subscribe(made, { ...april, start_date: "2026-05-01", timezone: "Asia/Tokyo" });
  const { id } = await builder.subscribe(made, { start_date: "2026-04-01", end_after_cycles: 1 });
  const organisation = made.organisationId;
  const wanted = { organisation, to: "2026-06-15T12:00:00Z" };
  const method = "TestClockService/PreviewAdvanceTestClock";
  const { previewedState, ...preview } = await admin.done(method, wanted);
  expect(preview).toMatchObject({
    to: "2026-06-15T12:00:00.000Z",
    subscriptions: 3,
    starts: 1,
    renewals: 3,
    ends: 1,
    totals: [{ currency: "NZD", invoices: 3, invoiced: "300.0000", credited: "0.0000" }],
  });
  expect(preview.hasMore).toBeUndefined();
  const advance = { ...wanted, previewedState };
  await admin.done("TestClockService/AdvanceTestClock", advance);
  const { testClock } = await arrived(admin, organisation);
  expect(testClock.advance.invoicesIssued).toBe(preview.totals[0].invoices);
  await builder.posted(made);
  expect((await builder.subscription(made, id)).status).toBe("complete");
  const later = { ...advance, to: "2026-07-15T12:00:00Z" };
  expect(messageOf(await admin.ask("TestClockService/AdvanceTestClock", later))).toBe(changed);
  expect((await arrived(admin, organisation)).testClock.now).toBe("2026-06-15T12:00:00.000Z");
});

async function arrived(admin: AdminAsk, organisation: string): Promise<Json> {
  return until("the clock is there", async () => {
    const shown = await admin.done("TestClockService/GetTestClock", { organisation });
    return shown.testClock.state === "TEST_CLOCK_STATE_STANDING" && shown;
  });
}
