/**
 * Requests to change units that are refused before the subscription is read. REQUEST-1, REQUEST-7.
 */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { CreatedOrganisation } from "../../src/dev/local-stack/demo/first-data.ts";
import { sharedSystem } from "../support/reused-system.ts";
import type { TestSystem } from "../support/system.ts";
import { type Ask, checkedAsk, type Refused, refusalOf, refused } from "./checked-ask.ts";
import { addApiKey } from "./row-builder.ts";
import { addBands, type Json, type UnitsBuilder, unitsBuilder } from "./units-builder.ts";

let system: TestSystem;
let ask: Ask;
let builder: UnitsBuilder;

/** 16 April; no renewal invoice is issued ahead. */
let own: CreatedOrganisation;

/** 16 April; what renews on 1 May has its renewal invoice, approved. */
let ahead: CreatedOrganisation;

beforeAll(async () => {
  system = await sharedSystem();
  ask = checkedAsk(system);
  builder = unitsBuilder(system, ask);
  own = await builder.sandbox({ first_invoice_status: "approved" });
  ahead = await builder.sandbox({ first_invoice_status: "approved", invoice_create_days: 20 });
  for (const organisation of [own, ahead]) {
    await addBands(system, organisation);
    await builder.setClock(organisation, "2026-04-16");
  }
});

const april = { start_date: "2026-04-01" };
const invalid = (param: string | null) => refused(422, "invalid_parameter", param);

async function subscribed(organisation: CreatedOrganisation, body: object = {}): Promise<Json> {
  return builder.subscribe(organisation, { ...april, ...body });
}

/** Everything of an organisation that a change could write, as text. */
async function rowsOf({ organisationId }: CreatedOrganisation): Promise<string> {
  const tables = [
    "subscriptions",
    "periods",
    "invoices",
    "invoice_lines",
    "credit_notes",
    "deferred_lines",
  ];
  const kept = [...tables, "unit_changes", "ledger_jobs", "document_counters"];
  const rows = await Promise.all(
    kept.map((table) =>
      system.pool.query(
        `SELECT to_jsonb(t)::text AS row FROM ${table} t WHERE organisation_id = $1 ORDER BY 1`,
        [organisationId],
      ),
    ),
  );
  return JSON.stringify(rows.map((one) => one.rows));
}

/** The refusal of a change that leaves everything as it was. */
async function refusal(
  organisation: CreatedOrganisation,
  id: string,
  body: unknown,
): Promise<Refused> {
  const before = await rowsOf(organisation);
  const answer = await builder.change(organisation, id, body);
  expect(await rowsOf(organisation)).toBe(before);
  return refusalOf(answer);
}

describe("a body of another shape", () => {
  test.each<[string, string, string | null]>([
    ["nothing", "", null],
    ["no JSON", "{", null],
    ["a list", "[]", null],
    ["no member", "{}", "units"],
    ["an unknown member", '{"units":12,"colour":"red"}', "colour"],
    ["a member in another case", '{"units":12,"effectiveDate":"2026-04-16"}', "effectiveDate"],
    ["the id of the path", '{"units":12,"id":"x"}', "id"],
    ["a duplicate member", '{"units":12,"units":13}', "units"],
    ["units as text", '{"units":"5"}', "units"],
    ["units 5.0", '{"units":5.0}', "units"],
    ["units 5e0", '{"units":5e0}', "units"],
    ["units null", '{"units":null}', "units"],
    ["units true", '{"units":true}', "units"],
    ["units in a list", '{"units":[5]}', "units"],
    ["negative units", '{"units":-1}', "units"],
    ["a minus zero", '{"units":-0}', "units"],
    ["a billion and one", '{"units":1000000001}', "units"],
    ["units beyond 32 bits", '{"units":4294967308}', "units"],
    ["prorate as text", '{"units":12,"prorate":"true"}', "prorate"],
    ["prorate 1", '{"units":12,"prorate":1}', "prorate"],
    ["prorate null", '{"units":12,"prorate":null}', "prorate"],
    [
      "effective_date without prorate",
      '{"units":12,"effective_date":"2026-04-16"}',
      "effective_date",
    ],
    [
      "effective_date with prorate false",
      '{"units":12,"prorate":false,"effective_date":"2026-04-16"}',
      "effective_date",
    ],
    [
      "proration_behaviour without prorate",
      '{"units":12,"proration_behaviour":"charge_immediately"}',
      "proration_behaviour",
    ],
    [
      "proration_behaviour with prorate false",
      '{"units":12,"prorate":false,"proration_behaviour":"charge_on_renewal"}',
      "proration_behaviour",
    ],
    [
      "a day that is none",
      '{"units":12,"prorate":true,"effective_date":"2026-02-30"}',
      "effective_date",
    ],
    [
      "a day in another form",
      '{"units":12,"prorate":true,"effective_date":"2026-4-16"}',
      "effective_date",
    ],
    [
      "a time",
      '{"units":12,"prorate":true,"effective_date":"2026-04-16T00:00:00Z"}',
      "effective_date",
    ],
    [
      "a day in other digits",
      '{"units":12,"prorate":true,"effective_date":"２０２６-04-16"}',
      "effective_date",
    ],
    ["a day that is empty", '{"units":12,"prorate":true,"effective_date":""}', "effective_date"],
    ["a day that is null", '{"units":12,"prorate":true,"effective_date":null}', "effective_date"],
    [
      "another behaviour",
      '{"units":12,"prorate":true,"proration_behaviour":"later"}',
      "proration_behaviour",
    ],
    [
      "a behaviour null",
      '{"units":12,"prorate":true,"proration_behaviour":null}',
      "proration_behaviour",
    ],
    [
      "a behaviour's number",
      '{"units":12,"prorate":true,"proration_behaviour":1}',
      "proration_behaviour",
    ],
    ["another document", '{"units":12,"document":"both"}', "document"],
    ["a document in capitals", '{"units":12,"document":"AMEND"}', "document"],
    ["a document null", '{"units":12,"document":null}', "document"],
    ["an unspecified document", '{"units":12,"document":"unspecified"}', "document"],
  ])("%s", async (_, body, param) => {
    const { id } =
      (await ask("GET", "/v1/subscriptions?limit=1", { key: own.apiKey })).json.data[0] ??
      (await subscribed(own));
    expect(await refusal(own, id, body)).toEqual(invalid(param));
  });

  test("is refused before the id, and after the query and the Idempotency-Key", async () => {
    const path = `/v1/subscriptions/${randomUUID()}/units`;
    const options = { key: own.apiKey, body: { units: "5" } };
    expect(refusalOf(await ask("POST", path, options))).toEqual(invalid("units"));
    expect(refusalOf(await ask("POST", `${path}?dry=1`, options))).toEqual(invalid("dry"));
    expect(refusalOf(await ask("POST", path, { ...options, idempotencyKey: "a b" }))).toEqual(
      invalid("Idempotency-Key"),
    );
    expect(
      refusalOf(await ask("POST", path, { ...options, headers: { "Content-Type": "text/plain" } })),
    ).toEqual(invalid(null));
  });
});

describe("an id that names no subscription of the organisation", () => {
  test("is 404 if it is unknown, malformed, another organisation's or an invoice's", async () => {
    const theirs = await subscribed(ahead);
    const ours = await subscribed(own);
    const others = [
      randomUUID(),
      theirs.id,
      ours.invoice.id,
      "none",
      "%20",
      `${ours.id}0`,
      ours.id.replaceAll("-", ""),
    ];
    for (const id of others) {
      expect([id, await refusal(own, id, { units: 12 })]).toEqual([
        id,
        refused(404, "subscription_not_found"),
      ]);
    }
    // The digits of a UUID are read in any case.
    expect((await builder.changed(own, ours.id.toUpperCase(), { units: 12 })).id).toBe(ours.id);
  });

  test("is 404 in Setup Mode too; the path is exact and takes POST alone", async () => {
    const mirror = await builder.sandbox({ setup_mode: true });
    expect(await refusal(mirror, randomUUID(), { units: 12 })).toEqual(
      refused(404, "subscription_not_found"),
    );
    const path = `/v1/subscriptions/${randomUUID()}/units`;
    for (const [verb, address] of [
      ["GET", path],
      ["PUT", path],
      ["POST", `${path}/`],
      ["POST", path.replace("units", "Units")],
    ] as const) {
      const answer = await ask(verb, address, {
        key: own.apiKey,
        ...(verb === "GET" ? {} : { body: { units: 1 } }),
      });
      expect([verb, address, refusalOf(answer)]).toEqual([
        verb,
        address,
        refused(404, "unknown_endpoint"),
      ]);
    }
  });
});

test("a key without the scope is 403, and another organisation's key is 404", async () => {
  const { id } = await subscribed(own);
  const scopes = ["subscriptions:read", "invoices:read", "customers:write", "usage:write"];
  const reader = await addApiKey(system.pool, own.organisationId, scopes, { livemode: false });
  const answer = await ask("POST", `/v1/subscriptions/${id}/units`, {
    key: reader.value,
    body: { units: "x" },
  });
  expect(refusalOf(answer)).toEqual(refused(403, "insufficient_scope"));
  expect(
    refusalOf(await ask("POST", `/v1/subscriptions/${id}/units`, { body: { units: 12 } })),
  ).toEqual(refused(401, "invalid_api_key"));
});
