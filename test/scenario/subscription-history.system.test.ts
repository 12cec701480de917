/**
 * What explanations of amounts name is read over HTTP: changes of units, billing periods, what
 * bills took of usage, and the meters of a plan. MONEY-9.
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { perFile } from "../support/file-fixture.ts";
import { addApiKey } from "../support/organisation-builder.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import type { Json } from "./units-builder.ts";
import { calls, meteredTest, storage } from "./usage-billing-fixture.ts";

/**
 * `made` is an organisation on 1 June. Its subscription has had ten seats at 10.00 of its own, then
 * twelve from 16 April on and eleven. Of April 200 calls are billed, of which 50 were late, and
 * 4 GB.
 */
const test = meteredTest.extend("made", perFile, async ({ builder, metered, use, to, system }) => {
  const [own, id] = await metered({}, [calls, storage]);
  await to(own, "2026-04-16");
  const { change } = await builder.changed(own, id, {
    units: 12,
    prorate: true,
    effective_date: "2026-04-16",
  });
  await builder.changed(own, id, { units: 11 });
  await use(own, id, ["150", "2026-04-02"], ["4", "2026-04-03", "storage"]);
  await to(own, "2026-05-01");
  await use(own, id, ["50", "2026-04-03"]);
  await to(own, "2026-06-01");
  const { plan } = await builder.subscription(own, id);
  const { value } = await addApiKey(system.pool, own.organisationId, ["invoices:read"], {
    livemode: false,
  });
  return { own, id, plan, invoice: change.invoice.id, invoicesKey: value };
});

describe("the lists of a subscription", () => {
  test("show its changes of units, newest first, with the documents of each", async ({
    ask,
    made: { own, id, invoice },
  }) => {
    const { json } = await ask("GET", `/v1/subscriptions/${id}/unit_changes`, { key: own.apiKey });
    const none = { effective_date: null, invoice: null, renewal_invoice: null, credit_note: null };
    const change = {
      id: expect.any(String),
      object: "unit_change",
      subscription: id,
      ...none,
      deferred_to_renewal: false,
      created: "2026-04-15T22:00:00.000Z",
    };
    expect(json).toEqual({
      data: [
        { ...change, from_units: 12, units: 11 },
        { ...change, from_units: 10, units: 12, effective_date: "2026-04-16", invoice },
      ],
      has_more: false,
    });
  });

  test("show its periods, newest first, with their days, billed units and price", async ({
    ask,
    made: { own, id },
  }) => {
    const { json } = await ask("GET", `/v1/subscriptions/${id}/periods`, { key: own.apiKey });
    const period = { object: "period", subscription: id, price_override: "10.0000" };
    const days = ["2026-04-01", "2026-05-01", "2026-06-01", "2026-07-01"];
    expect(json.data).toEqual(
      [2, 1, 0].map((index) => ({
        ...period,
        id: `${index}`,
        index,
        start: days[index],
        end: days[index + 1],
        billed_units: index === 0 ? 12 : 11,
        setup_mode: false,
      })),
    );
  });

  test("show what bills took of its usage, with what earlier bills took", async ({
    ask,
    builder,
    made: { own, id, plan },
  }) => {
    const { json } = await ask("GET", `/v1/subscriptions/${id}/usage_bills`, { key: own.apiKey });
    const meters = await ask("GET", `/v1/plans/${plan}/meters`, { key: own.apiKey });
    const [api, gigabytes] = meters.json.data.map(({ id }: Json) => id);
    const billed = await builder.invoices(own, id);
    const onInvoice = (quantity: string) =>
      billed.find(({ lines }) => lines.some((line: Json) => line.quantity === quantity)).id;
    const usage = {
      object: "usage_bill",
      subscription: id,
      period_index: 0,
      period: { start: "2026-04-01", end: "2026-05-01" },
      currency: "NZD",
      credit_note: null,
      before: "0.0000",
      priced: "0.0000",
    };
    const april = [
      {
        ...usage,
        id: `0.0.${api}`,
        bill: 0,
        meter: api,
        meter_code: "api-calls",
        events: 1,
        quantity: "150.0000",
        amount: "3.0000",
        invoice: onInvoice("150.0000"),
      },
      {
        ...usage,
        id: `0.0.${gigabytes}`,
        bill: 0,
        meter: gigabytes,
        meter_code: "storage",
        events: 1,
        quantity: "4.0000",
        amount: "8.0000",
        invoice: onInvoice("4.0000"),
      },
    ];
    const late = {
      ...april[0],
      id: `1.0.${api}`,
      bill: 1,
      quantity: "50.0000",
      before: "150.0000",
      priced: "150.0000",
      amount: "1.0000",
      invoice: onInvoice("50.0000"),
    };
    const byMeter = april.toSorted((one, other) => (one.meter < other.meter ? 1 : -1));
    expect(json).toEqual({ data: [late, ...byMeter], has_more: false });
  });

  test("show the meters of its plan with their prices, in the plan's order", async ({
    ask,
    made: { own, plan },
  }) => {
    const { json } = await ask("GET", `/v1/plans/${plan}/meters`, { key: own.apiKey });
    const tier = (from: number, up_to: number | null, unit_price: string) => ({
      from,
      up_to,
      unit_price,
      flat_price: null,
    });
    const meter = { id: expect.any(String), object: "plan_meter", plan, price: "0.0000" };
    expect(json).toEqual({
      data: [
        {
          ...meter,
          code: "api-calls",
          name: "API calls",
          unit_label: "call",
          type: "tiered",
          tiers: [tier(1, 1000, "0.0200"), tier(1001, null, "0.0100")],
        },
        {
          ...meter,
          code: "storage",
          name: "Storage",
          unit_label: "GB",
          type: "volume",
          tiers: [tier(1, 10, "2.0000"), tier(11, null, "1.0000")],
        },
      ],
      has_more: false,
    });
  });
});

const kinds = ["unit_changes", "periods", "usage_bills", "meters"] as const;

describe.each(kinds)("the list of %s", (kind) => {
  const pathOf = ({ id, plan }: { readonly id: string; readonly plan: string }) =>
    kind === "meters" ? `/v1/plans/${plan}/meters` : `/v1/subscriptions/${id}/${kind}`;

  test("has pages that follow each other", async ({ ask, made }) => {
    const key = made.own.apiKey;
    const whole = (await ask("GET", pathOf(made), { key })).json.data;
    expect(whole.length).toBeGreaterThan(1);
    const paged: Json[] = [];
    for (let after = "", more = true; more; after = `&starting_after=${paged.at(-1)?.id}`) {
      const { json } = await ask("GET", `${pathOf(made)}?limit=1${after}`, { key });
      expect(json.data).toHaveLength(1);
      paged.push(...json.data);
      more = json.has_more;
    }
    expect(paged).toEqual(whole);
  });

  test("refuses a wrong limit, a position that it does not have, and another key", async ({
    ask,
    made,
  }) => {
    const key = made.own.apiKey;
    const wrong = ["limit=0", "limit=101", `starting_after=${randomUUID()}`, "starting_after=x"];
    const more = kind === "usage_bills" ? [`starting_after=0.9.${randomUUID()}`] : [];
    for (const query of [...wrong, ...more, ...(kind === "periods" ? ["starting_after=9"] : [])]) {
      const answer = await ask("GET", `${pathOf(made)}?${query}`, { key });
      const [param] = query.split("=");
      expect([query, refusalOf(answer)]).toEqual([
        query,
        refused(422, "invalid_parameter", param ?? ""),
      ]);
    }
    expect(refusalOf(await ask("GET", pathOf(made), { key: made.invoicesKey }))).toEqual(
      refused(403, "insufficient_scope"),
    );
    expect(refusalOf(await ask("GET", pathOf(made), { key: "unknown" }))).toMatchObject({
      status: 401,
    });
  });
});
