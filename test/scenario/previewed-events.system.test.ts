/**
 * The events of an operator's preview are those that are published once the act is done and the
 * ledger has its documents. PREVIEW-8.
 */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { eventsOf, type PublishedEvent, publishAll } from "../support/published-events.ts";
import { setOrganisation } from "../support/rows.ts";
import type { TestSystem } from "../support/system.ts";
import { scenarioTest as test } from "./fixtures.ts";
import { perform } from "./preview-comparison.ts";
import { createStates, operations } from "./preview-states.ts";
import { addBands, type Json } from "./units-builder.ts";
import { addMeter } from "./usage-builder.ts";

/** The admin API's method of each operation. */
const methods = {
  create: "PreviewCreateSubscription",
  units: "PreviewChangeUnits",
  end: "PreviewEndSubscription",
  restore: "PreviewRestoreSubscription",
} as const;

/** A body of the public API with its words as the admin API's JSON has them. */
function adminBody(body: object): object {
  const enums: Readonly<Record<string, string>> = {
    when: "END_WHEN_",
    document: "CHANGE_DOCUMENT_",
    proration_behaviour: "PRORATION_BEHAVIOUR_",
  };
  const word = ([name, value]: [string, unknown]) =>
    enums[name] === undefined ? [name, value] : [name, enums[name] + String(value).toUpperCase()];
  return Object.fromEntries(Object.entries(body).map(word));
}

/** Each kind with how many there are, and the ids of objects that existed. */
type Kinds = readonly (readonly [type: string, count: number, ...objects: string[]])[];

const byType = (kinds: Kinds): Kinds =>
  kinds
    .map(([type, count, ...objects]) => [type, count, ...objects.sort()] as const)
    .toSorted(([left], [right]) => (left < right ? -1 : 1));

const previewedKinds = ({ events = [] }: Json): Kinds =>
  byType(
    events.map(({ type, count, objects = [] }: Json): Kinds[number] => [type, count, ...objects]),
  );

/** What payments and allocations change of a document. */
const ofMoney = ["status", "amount_due", "remaining_credit", "allocation_status", "allocations"];

const isOfMoney = ({ type, data: { previous_attributes: previous } }: PublishedEvent) =>
  /^(invoice|credit_note)\.(updated|paid)$/.test(type) &&
  Object.keys(previous ?? {}).every((name) => ofMoney.includes(name));

/**
 * The kinds of events, as one window has them: each once for an object, and `updated` only if no
 * other kind does. The relay may run at any moment. EVENT-2.
 */
const publishedKinds = (events: readonly PublishedEvent[], known: ReadonlySet<string>): Kinds => {
  const objects = Map.groupBy(
    events.filter((event) => !isOfMoney(event)),
    ({ data }) => data.object.id,
  );
  const all = [...objects].flatMap(([id, ofObject]) => {
    const types = [...new Set(ofObject.map(({ type }) => type))];
    const others = types.filter((type) => !type.endsWith(".updated"));
    return (others.length === 0 ? types : others).map((type) => ({ type, id }));
  });
  return byType(
    [...Map.groupBy(all, ({ type }) => type)].map(([type, some]) => {
      const ids = some.map(({ id }) => id);
      return [type, ids.length, ...ids.filter((id) => known.has(id))];
    }),
  );
};

/** The events of the work, and the objects that had events before. */
async function publishedBy(
  { pool }: TestSystem,
  { organisationId }: CreatedOrganisation,
  work: () => Promise<void>,
) {
  await publishAll(pool, organisationId);
  const before = await eventsOf(pool, organisationId);
  await work();
  await publishAll(pool, organisationId);
  const events = (await eventsOf(pool, organisationId)).slice(before.length);
  return { events, known: new Set(before.map(({ data }) => data.object.id)) };
}

test("the events of each preview in each state are those that its operation causes", async ({
  system,
  ask,
  builder,
  clocks,
  reports,
}) => {
  const own = await builder.sandbox({ invoice_create_days: 10, usage_allowed: true });
  await addMeter(system.pool, own.organisationId);
  const twins = await createStates({ system, ask, clocks, reports }, own);
  const shown: [name: string, id: string, Kinds][] = [];
  const { events, known } = await publishedBy(system, own, async () => {
    for (const { state, operation, id } of twins) {
      if (operation === null) continue;
      const [kind, body] = operations[operation];
      const asked = { organisation: own.organisationId, id, ...adminBody(body) };
      const preview = await clocks.operator.done(`SubscriptionService/${methods[kind]}`, asked);
      shown.push([`${state} ${operation}`, id, previewedKinds(preview)]);
    }
    const done = twins.map(async ({ operation, id }) => {
      if (operation === null) return;
      const [kind, body] = operations[operation];
      const { status, text } = await perform({ system, ask, builder, own }, id, kind, body);
      expect(status, text).toBe(200);
    });
    await Promise.all(done);
    await builder.posted(own);
  });
  const isOf = (id: string) => (event: PublishedEvent) =>
    id === event.data.object.id || id === event.data.object.subscription;
  for (const [name, id, kinds] of shown) {
    expect([name, kinds]).toEqual([name, publishedKinds(events.filter(isOf(id)), known)]);
  }
  const all = new Set(shown.flatMap(([, , kinds]) => kinds.map(([type]) => type)));
  expect([...all].sort()).toEqual([
    "invoice.created",
    "invoice.deleted",
    "invoice.updated",
    "subscription.ended",
    "subscription.updated",
  ]);
});

test("the events of each preview are those of its act where invoices are approved at once", async ({
  system,
  ask,
  builder,
  clocks,
}) => {
  const own = await builder.sandbox({ invoice_create_days: 10, first_invoice_status: "approved" });
  await addBands(system, own);
  await builder.setClock(own, "2026-04-17");
  /** Holds the preview against the act. Returns the object that is answered. */
  const compare = async (
    kind: keyof typeof methods,
    id: string | null,
    body: object,
    expected: readonly string[],
  ): Promise<Json> => {
    const asked = { organisation: own.organisationId, ...(id && { id }), ...adminBody(body) };
    const preview = await clocks.operator.done(`SubscriptionService/${methods[kind]}`, asked);
    let answer: Json;
    const { events, known } = await publishedBy(system, own, async () => {
      const order = { key: own.apiKey, body, idempotencyKey: randomUUID() };
      const answered =
        id === null || kind === "create"
          ? await ask("POST", "/v1/subscriptions", order)
          : await perform({ system, ask, builder, own }, id, kind, body);
      expect(answered.status, answered.text).toBeLessThan(300);
      answer = answered.json;
      await builder.posted(own);
    });
    const kinds = previewedKinds(preview);
    expect([kind, kinds]).toEqual([kind, publishedKinds(events, known)]);
    expect(kinds.map(([type, count]) => `${type} × ${count}`)).toEqual(expected);
    return answer;
  };
  const order = { customer_code: "ACME", plan_code: "team", price: "10", units: 10 };
  const inWindow = { ...order, start_date: "2026-03-20" };
  const { id } = await compare("create", null, inWindow, [
    "invoice.created × 2",
    "subscription.created × 1",
  ]);
  await compare("units", id, { units: 12, document: "amend" }, [
    "invoice.updated × 1",
    "subscription.updated × 1",
  ]);
  await compare("units", id, { units: 14, document: "separate" }, [
    "invoice.created × 1",
    "subscription.updated × 1",
  ]);
  await compare("end", id, { when: "period_end" }, [
    "credit_note.created × 1",
    "invoice.voided × 1",
    "subscription.updated × 1",
  ]);
  await compare("restore", id, {}, ["invoice.created × 1", "subscription.updated × 1"]);
  await compare("end", id, { when: "now", void_approved_invoices: true }, [
    "invoice.voided × 2",
    "subscription.ended × 1",
  ]);
  await compare("restore", id, {}, ["invoice.created × 2", "subscription.updated × 1"]);

  const bands = { ...order, plan_code: "bands", price: undefined, start_date: "2026-04-10" };
  const banded = await compare("create", null, bands, [
    "invoice.created × 1",
    "subscription.created × 1",
  ]);
  const cheaper = { units: 11, prorate: true, effective_date: "2026-04-17" };
  await compare("units", banded.id, cheaper, [
    "credit_note.created × 1",
    "subscription.updated × 1",
  ]);

  await setOrganisation(system.pool, own.organisationId, { setupMode: true });
  const entered = await compare("create", null, order, ["subscription.created × 1"]);
  await compare("end", entered.id, { when: "period_end" }, ["subscription.updated × 1"]);
  await compare("end", entered.id, { when: "now" }, ["subscription.ended × 1"]);
});
