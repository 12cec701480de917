/**
 * The timeline of a subscription over the wire: a refused and retried document, a deferred change,
 * an end with a removal, and a webhook that failed, in order and complete. ADMIN-12
 */
import { afterAll, beforeAll, expect } from "vitest";
import { createStartWork } from "../../../../src/worker/temporal/start-work.ts";
import { defaultTaskQueue } from "../../../../workflows/contract.ts";
import { checkedAsk } from "../../../scenario/checked-ask.ts";
import { type LifeBuilder, lifeBuilder } from "../../../scenario/life-builder.ts";
import { addBands, type Json } from "../../../scenario/units-builder.ts";
import { perFile, started } from "../../../support/file-fixture.ts";
import { publishAll } from "../../../support/published-events.ts";
import type { SystemSettings } from "../../../support/system.ts";
import { until } from "../../../support/until.ts";
import { startReceiver, type WebhookReceiver } from "../../../support/webhook-receiver.ts";
import { aloneAdminTest } from "../fixtures.ts";
import type { AdminAsk } from "../request.ts";

const uiUrl = "https://temporal.example.com";

const test = aloneAdminTest
  .extend(
    "settings",
    perFile,
    started(
      (): SystemSettings => ({
        env: {
          WEBHOOK_ADDRESSES: "development",
          WEBHOOK_RETRY_MILLISECONDS: "100",
          TEMPORAL_UI_URL: `${uiUrl}/`,
        },
      }),
    ),
  )
  .extend("builder", perFile, ({ system }): LifeBuilder => lifeBuilder(system, checkedAsk(system)));

let receiver: WebhookReceiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver?.stop());

/** All entries, oldest first, read in pages of this size. */
async function timelineOf(admin: AdminAsk, named: object, limit: number): Promise<Json[]> {
  const entries: Json[] = [];
  for (;;) {
    const last = entries.at(-1);
    const page = await admin.done("SubscriptionService/ListSubscriptionTimeline", {
      ...named,
      limit,
      ...(last === undefined ? {} : { startingAfter: last.id }),
    });
    entries.push(...(page.data ?? []));
    if (page.hasMore !== true) return entries.reverse();
  }
}

/** An entry in short: what, by whom, and the reason or the first words of the message. */
function shortOf({ summary, requester, reason, message }: Json): string {
  const why = reason ?? message;
  return [summary, ...(requester ? [`by ${requester.name}`] : []), ...(why ? [why] : [])].join(
    "; ",
  );
}

test("a timeline has what was requested, decided, posted, refused and sent, in order", async ({
  system,
  admin,
  builder,
  runs,
  client,
}) => {
  const made = await builder.sandbox({ invoice_create_days: 20 });
  const own = { organisation: made.organisationId };
  const path = "/failing";
  receiver.answer(path, (nth) => (nth === 1 ? { status: 500, body: "Not now" } : {}));
  const { endpoint } = await admin.done("WebhookService/CreateWebhookEndpoint", {
    ...own,
    url: receiver.url(path),
    kinds: ["subscription.created"],
  });
  const map = (revenueAccount: string) =>
    admin.done("AccountMappingService/SetAccountMapping", {
      ...own,
      revenueAccount,
      taxType: "OUTPUT2",
      skipCheck: true,
    });
  // The ledger does not have this account.
  await map("999");
  const { id, invoice } = await builder.subscribe(made, { start_date: "2026-04-01" });
  await map("260");
  await admin.done("DocumentService/RetryDocument", { ...own, id: invoice.id });
  await builder.posted(made);
  await builder.setClock(made, "2026-04-06");
  await builder.changed(made, id, {
    units: 12,
    prorate: true,
    proration_behaviour: "charge_on_renewal",
    effective_date: "2026-04-06",
  });
  await builder.setClock(made, "2026-04-16");
  await runs.untilDone(made.organisationId);
  await builder.posted(made);
  const end = { ...own, id, when: "END_WHEN_NOW", reason: "Closed their business" };
  await admin.done("SubscriptionService/EndSubscription", end);
  await builder.posted(made);
  await publishAll(system.pool, made.organisationId);
  const work = createStartWork(client, defaultTaskQueue, () => false);
  await until("it is started", () =>
    work.startDeliveries({ organisationId: made.organisationId, endpointId: endpoint.id }),
  );
  await until("it is delivered", async () => receiver.received(path).length === 2);
  const named = { ...own, id };
  const entries = await until("the attempt is recorded", async () => {
    const all = await timelineOf(admin, named, 100);
    return all.some(({ kind }) => kind === "TIMELINE_KIND_DELIVERED") && all;
  });

  const key = "by First key";
  const hook = receiver.url(path);
  // The relay may publish at any moment, so its entries have an order of their own.
  const isSent = ({ kind }: Json) => /_(PUBLISHED|DELIVER\w+)$/.test(kind);
  expect(entries.filter((one) => !isSent(one)).map(shortOf)).toEqual([
    `Created on plan Team; ${key}`,
    "Issued invoice INV-0001 (first), now 100.0000 NZD without tax",
    "The ledger refused invoice INV-0001; account_invalid",
    "Olga: RetryDocument of INV-0001; by Olga",
    "The ledger has invoice INV-0001",
    `Units from 10 to 12, deferred to the renewal; ${key}`,
    "16.6700 NZD deferred to the renewal, billed by invoice INV-0003",
    "Issued invoice INV-0002 (renewal), now 136.6700 NZD without tax",
    "The ledger has invoice INV-0002",
    "End requested, 1 invoice to remove first; by Olga; Closed their business",
    "Removed invoice INV-0002 (deleted)",
    "Issued invoice INV-0003 (change), now 16.6700 NZD without tax",
    "Ended",
    "The ledger has invoice INV-0003",
  ]);
  const sent = entries.filter(isSent).map(shortOf);
  const created = sent.filter((text) => text.includes("subscription.created"));
  expect(created).toEqual([
    "Published subscription.created",
    `subscription.created not accepted by ${hook}; the endpoint answered 500`,
    `subscription.created accepted by ${hook}`,
  ]);
  const others = ["invoice.created", "invoice.deleted", "subscription.ended"];
  for (const type of others) expect(sent).toContain(`Published ${type}`);
  // Pages of any size are the same list.
  expect(await timelineOf(admin, named, 2)).toEqual(entries);
  const steps = entries.filter((one) => !isSent(one));
  const instants = entries.map(({ at }) => at);
  expect(instants).toEqual([...instants].sort());
  const since = { ...named, since: steps[9]?.at, limit: 100 };
  const later = await admin.done("SubscriptionService/ListSubscriptionTimeline", since);
  const isLater = ({ at }: Json) => at >= steps[9]?.at;
  expect(later.data.toReversed()).toEqual(entries.filter(isLater));

  // The links lead to the ledger's document and to the run in the Temporal UI.
  const refused = steps[2];
  expect(steps[4]?.document).toMatchObject({
    id: invoice.id,
    number: "INV-0001",
    ledgerUrl: expect.stringMatching(new RegExp(`^${system.demoUrl}/#[0-9a-f-]{36}$`)),
  });
  const queryOf = ({ workflowUrl }: Json) => new URL(workflowUrl).searchParams.get("query");
  expect(refused.workflowUrl).toMatch(
    `${uiUrl}/namespaces/${system.temporal.namespace}/workflows?query=`,
  );
  const { organisationId } = made;
  expect(queryOf(refused)).toMatch(`WorkflowId = "ledger/${organisationId}" AND StartTime <=`);
  expect(queryOf(steps[12])).toMatch(/^WorkflowId = "end\//);
  expect(new URL(later.workflowsUrl).searchParams.get("query")).toBe(`SubscriptionId = "${id}"`);
  const shown = await admin.done("SubscriptionService/GetSubscription", named);
  expect(shown.workflowsUrl).toBe(later.workflowsUrl);
  for (const url of [shown.failedWorkflowsUrl, shown.waitingWorkflowsUrl])
    expect(queryOf({ workflowUrl: url })).toMatch(`OrganisationId = "${organisationId}" AND (`);
  // Temporal itself finds the run by the link.
  const found: string[] = [];
  await until("visibility has the run", async () => {
    for await (const one of client.workflow.list({ query: queryOf(steps[12]) ?? "" }))
      found.push(one.workflowId);
    return found.length > 0;
  });
  expect(new Set(found)).toEqual(new Set([expect.stringMatching(/^end\//)]));
});

test("a timeline has credit and payments as the ledger reports them", async ({
  system,
  admin,
  builder,
}) => {
  const made = await builder.sandbox({
    test_clock: "2026-04-16T12:00:00Z",
    first_invoice_status: "approved",
  });
  await addBands(system, made);
  const april = { start_date: "2026-04-01", plan_code: "bands" };
  const { id, invoice } = await builder.subscribe(made, april);
  const from = (day: string) => ({ prorate: true, effective_date: day });
  // More units reach the cheaper band, which gives credit, and even more are charged.
  await builder.changed(made, id, { units: 11, ...from("2026-04-01") });
  await builder.posted(made);
  await builder.changed(made, id, { units: 20, ...from("2026-04-01") });
  await builder.posted(made);
  await builder.pay(made, invoice, invoice.total);
  const named = { organisation: made.organisationId, id };
  const steps = await until("the payment is read", async () => {
    await admin.done("LedgerSyncService/SyncLedger", { organisation: made.organisationId });
    const all = (await timelineOf(admin, named, 100)).map(({ summary }) => summary as string);
    return all.includes("The ledger reports invoice INV-0001 as paid") && all;
  });
  const credited = steps.findIndex((text) => /of credit note CN-0001 applied to INV-/.test(text));
  expect(credited).toBeGreaterThan(steps.indexOf("The ledger has credit note CN-0001"));
  expect(steps.indexOf("The ledger reports invoice INV-0001 as paid")).toBeGreaterThan(credited);
  expect(steps).toContain("Units from 10 to 11, credited by CN-0001");
});

test("a timeline without its subscription, or after an unknown position, is refused", async ({
  admin,
  builder,
  system,
}) => {
  const made = await builder.sandbox();
  const { id } = await builder.subscribe(made);
  const own = { organisation: made.organisationId };
  const method = "SubscriptionService/ListSubscriptionTimeline";
  const elsewhere = { organisation: (await system.organisation()).organisationId, id };
  expect(await admin.refused(method, elsewhere)).toBe("subscription_not_found");
  expect(await admin.refused(method, { ...own, id: "none" })).toBe("subscription_not_found");
  for (const [name, value] of [
    ["startingAfter", id],
    ["since", "yesterday"],
  ] as const) {
    const param = name === "since" ? name : "starting_after";
    expect(await admin.refused(method, { ...own, id, [name]: value })).toBe(
      `invalid_parameter ${param}`,
    );
  }
});
