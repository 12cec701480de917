/**
 * Requests to change units that are refused before the subscription is read. REQUEST-1, REQUEST-7.
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { addApiKey } from "../support/organisation-builder.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { refusedUnitsTest as test } from "./units-fixture.ts";

const invalid = (param: string | null) => refused(422, "invalid_parameter", param);

describe("a body of another shape", () => {
  test.for<[string, string, string | null]>([
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
  ] as const)("%s", async ([_, body, param], { ask, own, subscribed, refusal }) => {
    const { id } =
      (await ask("GET", "/v1/subscriptions?limit=1", { key: own.apiKey })).json.data[0] ??
      (await subscribed(own));
    expect(await refusal(own, id, body)).toEqual(invalid(param));
  });

  test("is refused before the id, and after the query and the Idempotency-Key", async ({
    ask,
    own,
  }) => {
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
  test("is 404 if it is unknown, malformed, another organisation's or an invoice's", async ({
    builder,
    own,
    ahead,
    subscribed,
    refusal,
  }) => {
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

  test("is 404 in Setup Mode too; the path is exact and takes POST alone", async ({
    ask,
    builder,
    own,
    refusal,
  }) => {
    const inSetupMode = await builder.sandbox({ setup_mode: true });
    expect(await refusal(inSetupMode, randomUUID(), { units: 12 })).toEqual(
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

test("a key without the scope is 403, and another organisation's key is 404", async ({
  system,
  ask,
  own,
  subscribed,
}) => {
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
