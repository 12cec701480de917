/** Operators that act on behalf of a platform, over the wire. ADMIN-13 */
import { expect } from "vitest";
import type { Json } from "../../../scenario/units-builder.ts";
import { tables } from "../../../support/rows.ts";
import { adminTest as test } from "../fixtures.ts";
import { askWith, codeOf } from "../request.ts";

const service = (method: string) => `SubscriptionService/${method}`;
const order = { customerCode: "ACME", planCode: "team", units: 5, reason: "Ordered by telephone" };

const entriesOf = async (
  admin: { done(method: string, body: object): Promise<Json> },
  named: object,
): Promise<readonly Json[]> =>
  (await admin.done("AuditService/ListAuditEntries", { ...named, limit: 100 })).data ?? [];

test("an operator creates, changes, ends and restores, each with its audit entry", async ({
  system,
  admin,
  made,
  own,
}) => {
  const { subscription, invoice } = await admin.done(service("CreateSubscription"), {
    ...own,
    ...order,
  });
  const { id } = subscription;
  expect(invoice).toMatchObject({ subscription: id, ledger: { syncStatus: expect.any(String) } });
  // It is the platform's own object.
  const shown = await system.ask("GET", `/v1/subscriptions/${id}`, { key: made.apiKey });
  expect(shown.json).toMatchObject({ id, units: 5, status: "active" });
  const units = { ...own, id, units: 7, reason: "Two more seats" };
  const { change } = await admin.done(service("ChangeUnits"), units);
  expect(change).toMatchObject({ units: 7 });
  const end = { ...own, id, when: "END_WHEN_PERIOD_END", reason: "Not needed" };
  const ended = await admin.done(service("EndSubscription"), end);
  expect(ended.subscription).toMatchObject({ id, cancelAtPeriodEnd: true });
  const back = { ...own, id, reason: "Needed" };
  const restored = await admin.done(service("RestoreSubscription"), back);
  expect(restored.subscription.cancelAtPeriodEnd ?? false).toBe(false);
  const entries = (await entriesOf(admin, { target: id })).toReversed();
  expect(
    entries.map(({ operation, operatorName, after }) => [
      operation.replace(/^.*\//, ""),
      operatorName,
      after.reason,
    ]),
  ).toEqual([
    ["CreateSubscription", "Olga", order.reason],
    ["ChangeUnits", "Olga", units.reason],
    ["EndSubscription", "Olga", end.reason],
    ["RestoreSubscription", "Olga", back.reason],
  ]);
  expect(entries[1]).toMatchObject({ before: { units: 5 }, after: { units: 7, deferred: false } });
  expect(entries[2]).toMatchObject({
    before: { cancel_at_period_end: false, end_date: null },
    after: { cancel_at_period_end: true, end_date: subscription.renewalDate },
  });
});

test("a refusal is the platform's own, and leaves no audit entry", async ({
  system,
  admin,
  made,
  own,
}) => {
  const { subscription } = await admin.done(service("CreateSubscription"), { ...own, ...order });
  const { id } = subscription;
  const before = await entriesOf(admin, { target: id });
  const bodies = [
    { units: 5 },
    { units: 0 },
    { units: 6, prorate: true },
    { units: 6, prorate: true, effective_date: "2020-01-01" },
    { units: 6, document: "amend" },
    { units: 6, effective_date: "2026-04-01" },
  ];
  for (const body of bodies) {
    const platform = await system.ask("POST", `/v1/subscriptions/${id}/units`, {
      key: made.apiKey,
      body,
    });
    const { effective_date: effectiveDate, document, ...rest } = body as Json;
    const operator = await admin.ask(service("ChangeUnits"), {
      ...own,
      id,
      ...rest,
      ...(effectiveDate === undefined ? {} : { effectiveDate }),
      ...(document === undefined ? {} : { document: "CHANGE_DOCUMENT_AMEND" }),
      reason: "Trying",
    });
    const { code, param } = platform.json.error;
    expect(codeOf(operator), JSON.stringify(body)).toBe(param ? `${code} ${param}` : code);
    expect(operator.json.details[0].debug.message).toBe(platform.json.error.message);
  }
  const order404 = { ...own, ...order, planCode: "none" };
  expect(await admin.refused(service("CreateSubscription"), order404)).toBe(
    "plan_not_found plan_code",
  );
  expect(await entriesOf(admin, { target: id })).toEqual(before);
});

test("a repeat under the same key has one effect and one entry", async ({ admin, own, system }) => {
  const asked = { idempotencyKey: "telephone-order-1" };
  const body = { ...own, ...order };
  const first = await admin.done(service("CreateSubscription"), body, asked);
  const again = await admin.done(service("CreateSubscription"), body, asked);
  expect(again).toEqual(first);
  // Also after the stored answer is gone.
  await tables(system.pool).idempotencyKey.deleteMany({ where: { key: asked.idempotencyKey } });
  const late = await admin.done(service("CreateSubscription"), body, asked);
  expect(late.subscription.id).toBe(first.subscription.id);
  const other = { ...body, units: 6 };
  expect(await admin.refused(service("CreateSubscription"), other, asked)).toBe(
    "idempotency_conflict Idempotency-Key",
  );
  expect(await entriesOf(admin, { target: first.subscription.id })).toHaveLength(1);
  const another = await admin.done(service("CreateSubscription"), body);
  expect(another.subscription.id).not.toBe(first.subscription.id);
});

test("acting needs the role admin and a reason, and reading the least role", async ({
  system,
  admin,
  own,
}) => {
  const { subscription } = await admin.done(service("CreateSubscription"), { ...own, ...order });
  const named = { ...own, id: subscription.id };
  const writes: readonly (readonly [string, object])[] = [
    ["CreateSubscription", { ...own, ...order }],
    ["ChangeUnits", { ...named, units: 8, reason: "More" }],
    ["EndSubscription", { ...named, when: "END_WHEN_PERIOD_END", reason: "Over" }],
    ["RestoreSubscription", { ...named, reason: "Back" }],
  ];
  const reads: readonly (readonly [string, object])[] = [
    [service("ListSubscriptions"), own],
    [service("GetSubscription"), named],
    [service("ListSubscriptionTimeline"), named],
    ["InvoiceService/ListInvoices", own],
    ["CreditNoteService/ListCreditNotes", own],
    ["EventService/ListEvents", own],
  ];
  const reader = askWith(system, await system.operator("read-only", "Rita"));
  const writer = askWith(system, await system.operator("admin", "Ada"));
  for (const [method, body] of writes) {
    expect(await reader.refused(service(method), body)).toBe("insufficient_role");
    const anonymous = await system.askAdmin(service(method), { key: "op_none", body });
    expect(codeOf(anonymous)).toBe("invalid_operator_token");
    for (const reason of [undefined, "", " \t\n", "\u200b\u202e"]) {
      const silent = { ...body, reason };
      expect(await writer.refused(service(method), silent)).toBe("invalid_parameter reason");
    }
    await writer.done(service(method), body);
  }
  for (const [method, body] of reads) {
    await reader.done(method, body);
    const unknown = { ...body, organisation: "none" };
    expect(await reader.refused(method, unknown)).toBe("organisation_not_found");
  }
});

test("an operator cannot act on a subscription of another organisation", async ({
  system,
  admin,
  own,
}) => {
  const { subscription } = await admin.done(service("CreateSubscription"), { ...own, ...order });
  const other = { organisation: (await system.organisation()).organisationId };
  const named = { ...other, id: subscription.id, reason: "Wrong" };
  for (const [method, body] of [
    ["ChangeUnits", { ...named, units: 9 }],
    ["EndSubscription", { ...named, when: "END_WHEN_NOW" }],
    ["RestoreSubscription", named],
  ] as const)
    expect(await admin.refused(service(method), body)).toBe("subscription_not_found");
});
