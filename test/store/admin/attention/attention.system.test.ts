/** What waits for a person: each kind is listed, counted and gone once it is mended. ADMIN-18 */
import { describe, expect } from "vitest";
import {
  type AttentionStore,
  attentionKinds,
  createAttentionStore,
} from "../../../../src/store/admin/attention/attention.ts";
import { inTransaction } from "../../../../src/store/database/pool.ts";
import { dearStatements } from "../../../support/dear-statements.ts";
import { perFile } from "../../../support/file-fixture.ts";
import { copiedId, copyRows } from "../../../support/row-copies.ts";
import { type BillingFixture, billingTest } from "../../billing/billing-fixture.ts";
import { attentionCases, type Made } from "./attention-builder.ts";

const test = billingTest.extend("store", perFile, async ({ fixture }) =>
  createAttentionStore(fixture.pool),
);

const page = { limit: 25, startingAfter: null };

async function made(fixture: BillingFixture): Promise<Made> {
  const organisation = await fixture.sandbox("2026-03-10");
  const subscription = await fixture.subscribe(organisation);
  await fixture.posted(organisation);
  return { fixture, organisation, subscription };
}

const listed = async (store: AttentionStore, organisation: string | null) =>
  (await store.list(organisation, attentionKinds, page)).data;

describe.each(attentionKinds)("%s", (kind) => {
  test("is listed and counted until it is mended", async ({ fixture, store }) => {
    const own = await made(fixture);
    const other = await made(fixture);
    const { make, shows, mend } = attentionCases[kind];
    expect(await listed(store, own.organisation)).toEqual([]);
    await make(own);
    const [found, ...rest] = await listed(store, own.organisation);
    expect(found).toMatchObject({ ...shows, kind, organisationId: own.organisation, sameCount: 1 });
    expect(rest).toEqual([]);
    expect(found?.since.getTime()).toBeLessThanOrEqual(Date.now());
    expect(await store.count(own.organisation)).toEqual([{ kind, count: 1 }]);
    expect(await listed(store, other.organisation)).toEqual([]);
    const ofAll = await store.list(null, [kind], page);
    expect(ofAll.data.map(({ id }) => id)).toContain(found?.id);
    const after = { limit: 25, startingAfter: found?.id ?? "" };
    expect(await store.list(own.organisation, attentionKinds, after)).toEqual({
      data: [],
      hasMore: false,
    });
    await fixture.pool.query(mend, [own.organisation]);
    expect(await listed(store, own.organisation)).toEqual([]);
    expect(await store.count(own.organisation)).toEqual([]);
  });
});

test("everything that waits is paged by kind, each once", async ({ fixture, store }) => {
  const own = await made(fixture);
  const kinds = ["document_drift", "unknown_document", "endpoint_disabled"] as const;
  for (const kind of kinds) await attentionCases[kind].make(own);
  const seen: string[] = [];
  for (let startingAfter: string | null = null; ; ) {
    const { data, hasMore } = await store.list(own.organisation, attentionKinds, {
      limit: 1,
      startingAfter,
    });
    seen.push(...data.map(({ kind }) => kind));
    startingAfter = data.at(-1)?.id ?? null;
    if (!hasMore) break;
  }
  expect(seen).toEqual(["unknown_document", "document_drift", "endpoint_disabled"]);
});

test.for([
  "",
  "x",
  "parked",
  "subscription_parked.x.1",
  "subscription_parked",
])("a position that is no id of the list is refused: %s", async (startingAfter, { store }) => {
  const list = async () => store.list(null, attentionKinds, { limit: 1, startingAfter });
  await expect(list()).rejects.toMatchObject({ code: "invalid_parameter" });
});

const copies = 6_000;

test("a list and a count read at most what they show, at size", async ({ fixture, store }) => {
  const own = await made(fixture);
  const { organisation } = own;
  for (const kind of ["document_refused", "subscription_parked"] as const)
    await attentionCases[kind].make(own);
  await inTransaction(fixture.pool, async (client) => {
    await client.query("SET LOCAL session_replication_role = replica");
    const tables = {
      subscriptions: { id: copiedId("id") },
      invoices: {
        id: copiedId("id"),
        subscription_id: copiedId("subscription_id"),
        number: "t.number || '-' || n",
        ledger_invoice_id: "md5(t.ledger_invoice_id || n)",
      },
    };
    for (const [table, values] of Object.entries(tables))
      await copyRows(client, { organisationId: organisation, table, copies, rows: 1, values });
  });
  await fixture.pool.query("ANALYZE");
  // The thousand that a count ends at, each with its customer and its job.
  const most = 4_000;
  for (const scope of [organisation, null]) {
    const dear = await dearStatements(fixture.pool, most, async (observed) => {
      const observing = createAttentionStore(observed);
      await observing.list(scope, attentionKinds, page);
      await observing.count(scope);
    });
    // They are planned for their values each time.
    expect(dear.filter((text) => text.includes("force_custom_plan"))).toEqual([]);
  }
  const { data, hasMore } = await store.list(organisation, ["subscription_parked"], page);
  expect([data.length, hasMore, data[0]?.sameCount]).toEqual([25, true, 1_000]);
  expect(await store.count(organisation)).toContainEqual({
    kind: "subscription_parked",
    count: 1_000,
  });
});
