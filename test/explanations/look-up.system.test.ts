/**
 * Every document of an organisation is read by a key, verified, and held against what the API
 * shows. Of the changes of an explanation arithmetic refutes those of values, and the look-up those
 * of identities. MONEY-9.
 */
import { expect } from "vitest";
import { amountsOf, verifyAll } from "../../packages/verify/src/all.ts";
import { openApi } from "../../packages/verify/src/api.ts";
import { lookUp } from "../../packages/verify/src/look-up.ts";
import type { Listed } from "../../packages/verify/src/shapes.ts";
import { verify } from "../../packages/verify/src/verify.ts";
import type { Explanation } from "../../src/domain/explanation/shown.ts";
import { addBands } from "../scenario/units-builder.ts";
import { calls, meteredTest, storage } from "../scenario/usage-billing-fixture.ts";
import { perFile } from "../support/file-fixture.ts";
import { identity, mutationsOf, renamedSheets } from "./mutations.ts";

const april = { start_date: "2026-04-01" };
const half = { prorate: true, effective_date: "2026-04-16" };
const separate = { ...half, document: "separate" };
const now = { when: "now" };
const both = { ...now, delete_unsent_invoices: true, void_approved_invoices: true };

/** `keys` are those of two organisations that have a document of each kind of line. */
const test = meteredTest
  .extend("ahead", perFile, async ({ system, builder, aheadOf }) => {
    const own = await aheadOf();
    await addBands(system, own);
    const bands = { plan_code: "bands" };
    const charges = [
      { charge_code: "onboarding", quantity: 2 },
      { charge_code: "onboarding", price: "99.99" },
    ];
    const made: readonly (readonly [body: object, changes: readonly object[], ends?: object])[] = [
      [{ ...april, charges, discount_percent: "12.5" }, [separate], now],
      [{ ...april, ...bands }, [separate], now],
      [april, [{ ...half, document: "amend" }]],
      [{ start_date: "2026-05-01", ...bands }, [{}, { units: 9 }]],
      [{ ...april, plan_code: "site", units: undefined }, []],
      [{ ...april, plan_code: "growth", units: 30 }, []],
      [{ ...april, plan_code: "steps", units: 5 }, []],
    ];
    for (const [body, changes, end] of made) {
      const { id } = await builder.subscribe(own, body);
      for (const change of changes) await builder.changed(own, id, { units: 11, ...change });
      await builder.posted(own);
      if (end !== undefined) await builder.ended(own, id, end);
    }
    const { id } = await builder.subscribe(own, april);
    await builder.ended(own, id, both);
    await builder.restored(own, id);
    await builder.posted(own);
    return own.apiKey;
  })
  .extend("arrears", perFile, async ({ system, builder, metered, use, to }) => {
    const [own, id] = await metered({}, [calls, storage]);
    await addBands(system, own);
    await to(own, "2026-04-16");
    const later = { ...half, proration_behaviour: "charge_on_renewal" };
    await builder.changed(own, id, { units: 13, ...later });
    const credited = await builder.subscribe(own, { ...april, plan_code: "bands" });
    await builder.changed(own, credited.id, { units: 11, ...half });
    await use(own, id, ["150", "2026-04-02"], ["9", "2026-04-03", "storage"]);
    await to(own, "2026-05-01");
    // Late calls are dearer, and late storage makes all of it cheaper.
    await use(own, id, ["50.5", "2026-04-03"], ["2", "2026-04-03", "storage"]);
    await to(own, "2026-06-01");
    return own.apiKey;
  })
  .extend("keys", perFile, ({ ahead, arrears }) => [ahead, arrears] as const);

/** The rules of all lines. */
const rules = [
  ...["charge/1", "flat_fee/1", "plan/1", "proration/1", "reversal_charge/1"],
  ...["reversal_credit/1", "usage/1"],
];

/** An organisation as `--all` sees it, with the text of each document's explanation. */
async function readAll(baseUrl: string, key: string) {
  const api = openApi(baseUrl, key);
  const kinds = ["invoices", "credit_notes"] as const;
  const lists = await Promise.all(kinds.map((kind) => api.list<Listed>(`/v1/${kind}`)));
  const documents = lists.flatMap((list) => list ?? []);
  const explained = await Promise.all(
    documents.map(async (document) => {
      const text = await api.text(`/v1/${document.object}s/${document.id}/explanation`);
      const explanation: Explanation = JSON.parse(text ?? "");
      return { document, explanation };
    }),
  );
  return { api, explained, amounts: amountsOf(documents) };
}

test("every line of every rule verifies, and every fact is looked up and agrees", async ({
  system,
  keys,
}) => {
  const seen = new Set<string>();
  for (const key of keys) {
    const { api, explained } = await readAll(system.baseUrl, key);
    for (const { explanation } of explained)
      for (const { rule, was, reissues } of explanation.lines)
        for (const word of [rule, was && "was", reissues && "reissues"])
          if (word !== undefined) seen.add(word);
    const { documents, lines, lookedUp, ...counts } = await verifyAll(api);
    expect(documents).toBe(explained.length);
    expect(lookedUp).toBeGreaterThan(40);
    expect(counts).toEqual({
      verified: lines,
      unexplained: 0,
      amounts: lines,
      sums: documents,
      agreeing: lookedUp,
      notShown: 0,
      faults: [],
    });
  }
  expect([...seen].toSorted()).toEqual([...rules, "reissues", "was"].toSorted());
});

/** What neither arithmetic nor a look-up refutes, and why. */
const unrefuted: readonly (readonly [place: RegExp, why: string])[] = [
  [/^lines\.\d+\.reissues$/, "no object shows that a line repeats another one"],
  [/^ledger$/, "it is left out too while an amendment is on its way, and after a drift"],
];

test("each change of an identity is refuted by arithmetic or by the look-up", async ({
  system,
  keys,
}) => {
  const accepted: string[] = [];
  const counts = { byLookUp: 0, listed: 0 };
  for (const key of keys) {
    const { api, explained, amounts } = await readAll(system.baseUrl, key);
    for (const { document, explanation } of explained)
      for (const { at, text } of mutationsOf(explanation)) {
        // Arithmetic refutes all others (test/explanations/mutations.test.ts).
        if (!identity.test(at) && !at.startsWith("ledger")) continue;
        if (!(await verify(text)).verified) continue;
        if ((await lookUp(api, JSON.parse(text), document, amounts)).faults.length > 0)
          counts.byLookUp += 1;
        else if (unrefuted.some(([place]) => place.test(at))) counts.listed += 1;
        else accepted.push(`${document.number} ${at}`);
      }
  }
  expect(accepted).toEqual([]);
  expect(counts.byLookUp).toBeGreaterThan(1_300);
  // That of each document, and that of the line that is issued again.
  expect(counts.listed).toBeLessThan(40);
});

test("a price that counts in no amount is refuted by the look-up of the plan", async ({
  system,
  keys,
}) => {
  const { api, explained, amounts } = await readAll(system.baseUrl, keys[0]);
  let [byArithmetic, byLookUp] = [0, 0];
  for (const { document, explanation } of explained)
    for (const { at, text } of renamedSheets(explanation)) {
      if (!(await verify(text)).verified) byArithmetic += 1;
      else {
        const { faults } = await lookUp(api, JSON.parse(text), document, amounts);
        expect([document.number, at, faults.length > 0]).toEqual([document.number, at, true]);
        byLookUp += 1;
      }
    }
  expect([byArithmetic > 100, byLookUp > 20]).toEqual([true, true]);
});
