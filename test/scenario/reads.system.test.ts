/**
 * Every list and every look-up over HTTP: order, pages, each filter, and each wrong parameter by
 * its name. OBJECT-5.
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { perFile } from "../support/file-fixture.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { type Listed, readsTest } from "./readable-objects.ts";
import { addLike } from "./row-builder.ts";

const lists = ["customers", "plans", "charges", "subscriptions", "invoices", "credit_notes"];

const test = readsTest
  /** The names of the objects that a list holds, by code, number or the ids above. */
  .extend("listed", perFile, ({ ids, list }) => async (path: string): Promise<unknown[]> => {
    const { data, has_more } = await list(path);
    expect(has_more).toBe(false);
    const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]));
    return data.map(({ id, code }) => code ?? names.get(id));
  });

const invalid = (param: string) => refused(422, "invalid_parameter", param);

test("the organisation is the key's", async ({ own, read }) => {
  expect((await read("/v1/organisation")).json).toEqual({
    id: own.organisationId,
    object: "organisation",
    name: "Northwind",
    timezone: "Pacific/Auckland",
    default_currency: "NZD",
    setup_mode: false,
    can_create_ledger_contacts: true,
    livemode: false,
  });
});

describe("a list", () => {
  test.for(
    lists,
  )("of %s pages through everything, newest first, for every page size", async (kind, { list }) => {
    const whole = await list(`/v1/${kind}`);
    expect(whole.data.length).toBeGreaterThan(2);
    for (const limit of [1, 2, whole.data.length - 1]) {
      const seen: Listed[] = [];
      for (let after = ""; ; after = `&starting_after=${seen.at(-1)?.id}`) {
        const page = await list(`/v1/${kind}?limit=${limit}${after}`);
        expect(page.data.length).toBeLessThanOrEqual(limit);
        seen.push(...page.data);
        if (!page.has_more) break;
      }
      expect(seen).toEqual(whole.data);
    }
    expect(await list(`/v1/${kind}?limit=${whole.data.length}`)).toEqual({
      data: whole.data,
      has_more: false,
    });
    expect(await list(`/v1/${kind}?starting_after=${whole.data.at(-1)?.id}`)).toEqual({
      data: [],
      has_more: false,
    });
    expect(await list(`/api/v1/${kind}?limit=100`)).toEqual(whole);
  });

  test("has 25 objects without a limit, and knows that there are more", async ({ system, ask }) => {
    const big = await system.organisation();
    for (let index = 0; index < 23; index += 1) {
      await addLike(system.pool, "customers", big.organisationId, "ACME", { code: `C${index}` });
    }
    const { json } = await ask("GET", "/v1/customers", { key: big.apiKey });
    expect([json.data.length, json.has_more, json.data[0].code]).toEqual([25, true, "C22"]);
    const rest = await ask("GET", `/v1/customers?starting_after=${json.data[24].id}`, {
      key: big.apiKey,
    });
    expect([rest.json.data.map(({ code }: Listed) => code), rest.json.has_more]).toEqual([
      ["ACME"],
      false,
    ]);
  });

  test.for([
    ["customers", "status=active", "GONE", ["INITECH", "GLOBEX", "ACME"]],
    ["plans", "status=active", "team-draft", ["steps", "scale", "growth", "team", "site"]],
    ["charges", "status=active", "onboarding-draft", ["hardware-key", "onboarding"]],
    ["charges", "code=onboarding", "onboarding-draft", ["onboarding"]],
    ["subscriptions", "status=active", "three", ["two", "one"]],
    [
      "invoices",
      "status=draft",
      "four's invoice",
      ["three's invoice", "two's invoice", "one's invoice"],
    ],
    ["credit_notes", "status=approved", "voided", ["partial", "unapplied"]],
  ] as const)("of %s with %s starts after the excluded %s", async ([
    kind,
    filter,
    position,
    expected,
  ], { ids, listed, list }) => {
    const after =
      ids[position] ?? (await list(`/v1/${kind}`)).data.find(({ code }) => code === position)?.id;
    expect(await listed(`/v1/${kind}?${filter}&starting_after=${after}`)).toEqual(expected);
  });

  test.for(lists)("of %s shows each object as it is retrieved", async (kind, { read, list }) => {
    for (const object of (await list(`/v1/${kind}`)).data) {
      expect((await read(`/v1/${kind}/${object.id}`)).json).toEqual(object);
      expect((await read(`/api/v1/${kind}/${object.id.toUpperCase()}`)).json).toEqual(object);
    }
  });

  test.for(lists)("of %s refuses a wrong parameter by its name", async (kind, {
    ids,
    read,
    list,
  }) => {
    const elsewhere = kind === "plans" ? ids.one : (await list("/v1/plans")).data[0]?.id;
    const wrong: [string, string][] = [
      ["limit=0", "limit"],
      ["limit=101", "limit"],
      ["limit=-1", "limit"],
      ["limit=05", "limit"],
      ["limit=5.0", "limit"],
      ["limit=5e0", "limit"],
      ["limit=%205", "limit"],
      ["limit=", "limit"],
      ["limit", "limit"],
      ["limit=5&limit=5", "limit"],
      ["limit=99999999999", "limit"],
      ["starting_after=", "starting_after"],
      ["starting_after=abc", "starting_after"],
      [`starting_after=${randomUUID()}`, "starting_after"],
      [`starting_after=${elsewhere}`, "starting_after"],
      [
        `limit=1&starting_after=${elsewhere}&status=draft`,
        kind === "customers" || kind === "subscriptions" ? "status" : "starting_after",
      ],
      ["colour=red", "colour"],
      ["Limit=5", "Limit"],
      ["page=2", "page"],
      ["id=1", "id"],
      ["status=", "status"],
      ["status=nonsense", "status"],
      ["status=Active", "status"],
      ["status=STATUS_ACTIVE", "status"],
      ["status=1", "status"],
      ["status=unspecified", "status"],
      ["status=draft,", "status"],
      ["status=,draft", "status"],
      ["status=draft&status=draft", "status"],
    ];
    for (const [query, param] of wrong) {
      expect({ query, ...refusalOf(await read(`/v1/${kind}?${query}`)) }).toEqual({
        query,
        ...invalid(param),
      });
    }
  });
});

describe("the filters of", () => {
  test("customers: code, email in any case, status", async ({ listed, read }) => {
    expect(await listed("/v1/customers")).toEqual(["GONE", "INITECH", "GLOBEX", "ACME"]);
    expect(await listed("/v1/customers?code=ACME")).toEqual(["ACME"]);
    expect(await listed("/v1/customers?code=acme")).toEqual([]);
    expect(await listed("/v1/customers?email=BILLING%40Acme.example")).toEqual(["ACME"]);
    expect(await listed("/v1/customers?email=acme")).toEqual([]);
    expect(await listed("/v1/customers?email=GÖNE%40acme.example")).toEqual(["GONE"]);
    expect(await listed("/v1/customers?email=%25%40acme.example")).toEqual([]);
    expect(await listed("/v1/customers?status=inactive")).toEqual(["GONE"]);
    expect(await listed("/v1/customers?status=active&limit=10")).toEqual([
      "INITECH",
      "GLOBEX",
      "ACME",
    ]);
    expect(await listed("/v1/customers?status=inactive&code=ACME")).toEqual([]);
    expect(refusalOf(await read("/v1/customers?status=active,inactive"))).toEqual(
      invalid("status"),
    );
    expect(refusalOf(await read("/v1/customers?code="))).toEqual(invalid("code"));
    expect(refusalOf(await read(`/v1/customers?code=${"x".repeat(101)}`))).toEqual(invalid("code"));
    expect(refusalOf(await read(`/v1/customers?email=${"x".repeat(256)}`))).toEqual(
      invalid("email"),
    );
    expect(refusalOf(await read("/v1/customers?code=%00"))).toEqual(invalid("code"));
    expect(refusalOf(await read("/v1/customers?code=%FF"))).toEqual(invalid("code"));
  });

  test("plans and charges: active and draft ones, unless a status is given", async ({
    listed,
    read,
  }) => {
    expect(await listed("/v1/plans")).toEqual([
      "team-draft",
      "steps",
      "scale",
      "growth",
      "team",
      "site",
    ]);
    expect(await listed("/v1/charges")).toEqual(["onboarding-draft", "hardware-key", "onboarding"]);
    for (const status of ["draft", "inactive", "legacy"]) {
      expect(await listed(`/v1/plans?status=${status}`)).toEqual([`team-${status}`]);
      expect(await listed(`/v1/charges?status=${status}`)).toEqual([`onboarding-${status}`]);
    }
    expect(await listed("/v1/plans?status=active")).toEqual([
      "steps",
      "scale",
      "growth",
      "team",
      "site",
    ]);
    expect(await listed("/v1/charges?status=active")).toEqual(["hardware-key", "onboarding"]);
    expect(await listed("/v1/plans?code=team")).toEqual(["team"]);
    expect(await listed("/v1/plans?code=team-legacy&status=legacy")).toEqual(["team-legacy"]);
    expect(await listed("/v1/charges?code=onboarding&status=active")).toEqual(["onboarding"]);
    expect(await listed("/v1/charges?code=team")).toEqual([]);
    expect(refusalOf(await read("/v1/plans?status=active,draft"))).toEqual(invalid("status"));
  });

  test("subscriptions: customer, customer_code, status", async ({ ids, listed, read }) => {
    const customer = ids["one's customer"];
    expect(await listed("/v1/subscriptions")).toEqual(["four", "three", "two", "one"]);
    expect(await listed(`/v1/subscriptions?customer=${customer}`)).toEqual(["three", "one"]);
    expect(await listed(`/v1/subscriptions?customer=${customer?.toUpperCase()}`)).toEqual([
      "three",
      "one",
    ]);
    expect(await listed("/v1/subscriptions?customer_code=GLOBEX")).toEqual(["two"]);
    expect(await listed("/v1/subscriptions?customer_code=nobody")).toEqual([]);
    expect(await listed("/v1/subscriptions?status=pending")).toEqual(["three"]);
    expect(await listed("/v1/subscriptions?status=active")).toEqual(["four", "two", "one"]);
    expect(await listed("/v1/subscriptions?status=ended")).toEqual([]);
    expect(
      await listed(`/v1/subscriptions?status=active&customer_code=ACME&customer=${customer}`),
    ).toEqual(["one"]);
    expect(await listed(`/v1/subscriptions?customer=${randomUUID()}`)).toEqual([]);
    expect(refusalOf(await read("/v1/subscriptions?customer=ACME"))).toEqual(invalid("customer"));
  });

  test("invoices and credit notes: subscription, customer, several statuses", async ({
    ids,
    listed,
    read,
  }) => {
    const invoices = async (query: string) =>
      (await listed(`/v1/invoices?${query}`)).map((name) => String(name).replace("'s invoice", ""));
    expect(await invoices("limit=100")).toEqual(["four", "three", "two", "one"]);
    expect(await invoices(`subscription=${ids.two}`)).toEqual(["two"]);
    expect(await invoices(`customer=${ids["one's customer"]}`)).toEqual(["three", "one"]);
    expect(await invoices("status=draft")).toEqual(["three", "two", "one"]);
    expect(await invoices("status=not_in_external")).toEqual(["four"]);
    expect(await invoices("status=not_in_external,draft,paid")).toEqual([
      "four",
      "three",
      "two",
      "one",
    ]);
    expect(await invoices("status=approved,voided,deleted,scheduled,awaiting_approval")).toEqual(
      [],
    );
    expect(
      await invoices(`customer=${ids["two's customer"]}&status=draft&subscription=${ids.one}`),
    ).toEqual([]);

    const notes = (query: string) => listed(`/v1/credit_notes?${query}`);
    expect(await notes("limit=100")).toEqual([
      "refused",
      "voided",
      "applied",
      "partial",
      "unapplied",
    ]);
    expect(await notes(`subscription=${ids.two}`)).toEqual(["voided", "applied"]);
    expect(await notes(`customer=${ids["one's customer"]}&status=approved`)).toEqual([
      "partial",
      "unapplied",
    ]);
    expect(await notes("status=voided,not_in_external")).toEqual(["refused", "voided"]);
    for (const kind of ["invoices", "credit_notes"]) {
      expect(await listed(`/v1/${kind}?subscription=${randomUUID()}`)).toEqual([]);
      expect(refusalOf(await read(`/v1/${kind}?subscription=one`))).toEqual(
        invalid("subscription"),
      );
      expect(refusalOf(await read(`/v1/${kind}?customer=ACME`))).toEqual(invalid("customer"));
      expect(refusalOf(await read(`/v1/${kind}?status=draft,draft,nonsense`))).toEqual(
        invalid("status"),
      );
    }
  });
});
