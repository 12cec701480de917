/** Operators' previews for a platform, over the wire. ADMIN-13, PREVIEW-1 */
import { expect } from "vitest";
import type { Json } from "../../../scenario/units-builder.ts";
import { adminTest as test } from "../fixtures.ts";
import { type AdminAsk, askWith, codeOf } from "../request.ts";

const service = (method: string) => `SubscriptionService/${method}`;
const order = { customerCode: "ACME", planCode: "team", units: 5 };
const reason = "Ordered by telephone";
const nil = "00000000-0000-0000-0000-000000000000";

async function create(admin: AdminAsk, own: object): Promise<Json> {
  const body = { ...own, ...order, reason };
  return (await admin.done(service("CreateSubscription"), body)).subscription;
}

const auditOf = async (admin: AdminAsk, own: object): Promise<Json> =>
  admin.done("AuditService/ListAuditEntries", { ...own, limit: 100 });

/** What a document and its preview have in common. */
function inShort({ type, currency, issueDate, dueDate, subtotal, lines }: Json): Json {
  const shown = lines.map(({ id: _, ...line }: Json) => line);
  return { type, currency, issueDate, dueDate, subtotal, lines: shown };
}

test("a creation's preview has the subscription and the invoice that then follow", async ({
  admin,
  own,
}) => {
  const body = { ...own, ...order };
  const { preview } = await admin.done(service("PreviewCreateSubscription"), body);
  const asked = { ...body, reason };
  const { subscription, invoice } = await admin.done(service("CreateSubscription"), asked);
  const { created } = preview.subscription;
  expect(preview.subscription).toEqual({ ...subscription, id: nil, created });
  expect(preview.issuedInvoices.map(inShort)).toEqual([inShort(invoice)]);
  const named = { ...own, id: subscription.id };
  const { upcomingInvoice } = await admin.done(service("GetUpcomingInvoice"), named);
  expect(upcomingInvoice).toMatchObject({
    subscription: subscription.id,
    renewalDate: subscription.renewalDate,
    subtotal: "62.5000",
  });
  const unnamed = JSON.stringify(upcomingInvoice).replaceAll(subscription.id, nil);
  expect(preview.upcomingInvoice).toEqual(JSON.parse(unnamed));
});

test("previews of a change, an end and a restoration have what then happens", async ({
  admin,
  own,
}) => {
  const { id, startDate } = await create(admin, own);
  const deferred = { prorationBehaviour: "PRORATION_BEHAVIOUR_CHARGE_ON_RENEWAL" };
  const whole = { prorate: true, effectiveDate: startDate, ...deferred };
  const steps: readonly (readonly [string, object])[] = [
    ["ChangeUnits", { units: 7, ...whole }],
    ["EndSubscription", { when: "END_WHEN_PERIOD_END" }],
    ["RestoreSubscription", {}],
  ];
  for (const [method, rest] of steps) {
    const body = { ...own, id, ...rest };
    const { preview } = await admin.done(service(`Preview${method}`), body);
    const { subscription } = await admin.done(service(method), { ...body, reason });
    expect(preview.subscription, method).toEqual(subscription);
    expect(preview.deferredLines, method).toMatchObject([{ amount: "25.0000" }]);
  }
});

test("previews write nothing, not even an audit entry, and need no more than reading", async ({
  system,
  admin,
  own,
}) => {
  const { id } = await create(admin, own);
  const named = { ...own, id };
  const reads: readonly (readonly [string, object])[] = [
    ["PreviewCreateSubscription", { ...own, ...order }],
    ["PreviewChangeUnits", { ...named, units: 8 }],
    ["PreviewEndSubscription", { ...named, when: "END_WHEN_NOW", deleteUnsentInvoices: true }],
    ["GetUpcomingInvoice", named],
  ];
  const countOf = async () => {
    const { rows } = await system.pool.query(
      `SELECT (SELECT count(*) FROM audit_log)::int AS entries,
        (SELECT count(*) FROM subscriptions WHERE organisation_id = $1)::int AS subscriptions,
        (SELECT string_agg(xmin::text, ' ' ORDER BY id) FROM subscriptions
          WHERE organisation_id = $1) AS versions,
        (SELECT count(*) FROM invoices WHERE organisation_id = $1)::int AS invoices`,
      [own.organisation],
    );
    return rows;
  };
  const [before, audit] = [await countOf(), await auditOf(admin, own)];
  const reader = askWith(system, await system.operator("read-only", "Rita"));
  for (const [method, body] of reads) {
    await reader.done(service(method), body);
    const unknown = { ...body, organisation: "none" };
    expect(await reader.refused(service(method), unknown)).toBe("organisation_not_found");
    const anonymous = await system.askAdmin(service(method), { key: "op_none", body });
    expect(codeOf(anonymous)).toBe("invalid_operator_token");
  }
  expect(await countOf()).toEqual(before);
  expect(await auditOf(admin, own)).toEqual(audit);
});

test("a preview is refused as the change is", async ({ system, admin, own }) => {
  const { id } = await create(admin, own);
  const named = { ...own, id };
  const refused: readonly (readonly [string, object])[] = [
    ["CreateSubscription", { ...own, ...order, planCode: "none" }],
    ["ChangeUnits", { ...named, units: 5 }],
    ["ChangeUnits", { ...named, units: 6, prorate: true, effectiveDate: "2020-01-01" }],
    ["EndSubscription", { ...named, when: "END_WHEN_PERIOD_END", voidApprovedInvoices: true }],
    ["RestoreSubscription", named],
  ];
  for (const [method, body] of refused) {
    const shown = await admin.ask(service(`Preview${method}`), body);
    const real = await admin.ask(service(method), { ...body, reason });
    expect(codeOf(shown), method).toBe(codeOf(real));
    const messageOf = ({ json }: Json) => json.details[0].debug.message;
    expect(messageOf(shown)).toBe(messageOf(real));
  }
  const other = { organisation: (await system.organisation()).organisationId, id };
  for (const [method, rest] of [
    ["PreviewChangeUnits", { units: 9 }],
    ["PreviewEndSubscription", { when: "END_WHEN_NOW" }],
    ["PreviewRestoreSubscription", {}],
    ["GetUpcomingInvoice", {}],
  ] as const)
    expect(await admin.refused(service(method), { ...other, ...rest })).toBe(
      "subscription_not_found",
    );
  await admin.done(service("EndSubscription"), { ...named, when: "END_WHEN_NOW", reason });
  expect(await admin.refused(service("GetUpcomingInvoice"), named)).toBe("invalid_state");
});
