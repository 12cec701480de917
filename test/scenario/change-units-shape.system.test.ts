/**
 * Requests to change units that are refused before the subscription is read. REQUEST-1, REQUEST-7.
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { refused } from "./checked-ask.ts";
import { refusedUnitsTest as test } from "./units-fixture.ts";

const invalid = (param: string | null) => refused(422, "invalid_parameter", param);

describe("a body of another shape", () => {
  test.for<[string, string, string | null]>([
    ["no member", "{}", "units"],
    ["negative units", '{"units":-1}', "units"],
    ["a billion and one", '{"units":1000000001}', "units"],
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
    [
      "another behaviour",
      '{"units":12,"prorate":true,"proration_behaviour":"later"}',
      "proration_behaviour",
    ],
    ["another document", '{"units":12,"document":"both"}', "document"],
  ] as const)("%s", async ([_, body, param], { ask, own, subscribed, refusal }) => {
    const { id } =
      (await ask("GET", "/v1/subscriptions?limit=1", { key: own.apiKey })).json.data[0] ??
      (await subscribed(own));
    expect(await refusal(own, id, body)).toEqual(invalid(param));
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
});
