/** The upcoming invoice: what the next renewal bills, with deferred lines and usage. PREVIEW-5. */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { verify } from "../../packages/verify/src/verify.ts";
import type { Answered } from "../support/system.ts";
import { type Ask, refusalOf, refused } from "./checked-ask.ts";
import { explanationInShort } from "./preview-comparison.ts";
import type { Json } from "./units-builder.ts";
import { calls, storage, meteredTest as test } from "./usage-billing-fixture.ts";

const deferred = {
  units: 12,
  prorate: true,
  effective_date: "2026-04-16",
  proration_behaviour: "charge_on_renewal",
};

const upcoming = (ask: Ask, { apiKey }: CreatedOrganisation, id: string): Promise<Answered> =>
  ask("GET", `/v1/subscriptions/${id}/upcoming_invoice`, { key: apiKey });

const shownLines = (lines: readonly Json[]) => lines.map(({ id: _, ...line }) => line);

test.for([
  "draft",
  "approved",
])("the next renewal bills the lines of the upcoming invoice (%s)", async (status, {
  ask,
  builder,
  metered,
  use,
  to,
}) => {
  const [own, id] = await metered({ first_invoice_status: status }, [calls, storage]);
  await to(own, "2026-04-16");
  await builder.changed(own, id, deferred);
  await use(own, id, ["1500", "2026-04-03"], ["12", "2026-04-04", "storage"]);
  const { json } = await upcoming(ask, own, id);
  expect(json).toMatchObject({
    object: "upcoming_invoice",
    subscription: id,
    renewal_date: "2026-05-01",
    period: { start: "2026-05-01", end: "2026-06-01" },
    issued: false,
    invoice: null,
    credits: [],
  });
  expect(json.lines.map(({ kind }: Json) => kind)).toEqual(["plan", "proration", "usage", "usage"]);
  const known = new Set((await builder.invoices(own, id)).map((invoice) => invoice.id));
  await to(own, "2026-05-01");
  const issued = (await builder.invoices(own, id))
    .filter((invoice) => !known.has(invoice.id))
    .toReversed();
  expect(json.lines).toEqual(issued.flatMap(({ lines }) => shownLines(lines)));
  const explained = await Promise.all(
    issued.map(({ id }) => ask("GET", `/v1/invoices/${id}/explanation`, { key: own.apiKey })),
  );
  expect(json.explanations.map(explanationInShort)).toEqual(
    explained.map((answer) => explanationInShort(answer.json)),
  );
});

test("an upcoming invoice has the lines of the renewal invoice that was issued ahead", async ({
  ask,
  builder,
  metered,
  use,
  to,
}) => {
  const [own, id] = await metered({ invoice_create_days: 20 });
  await to(own, "2026-04-16");
  await use(own, id, ["10", "2026-04-03"]);
  const [renewal] = await builder.invoices(own, id);
  const { json } = await upcoming(ask, own, id);
  expect([json.issued, json.invoice, renewal.type]).toEqual([true, renewal.id, "renewal"]);
  expect(json.lines.slice(0, 1)).toEqual(shownLines(renewal.lines));
  expect(json.lines.map(({ kind }: Json) => kind)).toEqual(["plan", "usage"]);
  expect(json.subtotal).toBe("100.2000");
  expect(json.explanations.map(({ subtotal }: Json) => subtotal)).toEqual(["100.0000", "0.2000"]);
  for (const explanation of json.explanations)
    expect(await verify(JSON.stringify(explanation))).toEqual({ verified: true, lines: 1 });
});

test("a subscription that is set to end has an upcoming invoice without a period", async ({
  ask,
  builder,
  metered,
  use,
  to,
}) => {
  const [own, id] = await metered();
  await to(own, "2026-04-16");
  await use(own, id, ["10", "2026-04-03"]);
  await builder.ended(own, id, { when: "period_end" });
  const { json } = await upcoming(ask, own, id);
  expect([json.period, json.lines.map(({ kind }: Json) => kind)]).toEqual([null, ["usage"]]);
  await builder.ended(own, id, { when: "now" });
  expect(refusalOf(await upcoming(ask, own, id))).toEqual(refused(409, "invalid_state"));
});

test("an upcoming invoice waits for no billing that holds the usage", async ({
  system,
  ask,
  metered,
}) => {
  const [own, id] = await metered();
  const client = await system.pool.connect();
  try {
    await client.query("BEGIN");
    // The first key of the locks between storing usage and billing it, and all buckets.
    await client.query(
      `SELECT count(pg_advisory_xact_lock(x'75736167'::int, b)) FROM generate_series(0, 1023) b`,
    );
    expect((await upcoming(ask, own, id)).status).toBe(200);
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
});
