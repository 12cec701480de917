/**
 * Concurrent and repeated ends, and ends during other operations, over two API processes: one is
 * done at a time, and each answer is true. STATE-3.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { type Endable, endPost, threeRemoved } from "../faults/ends-builder.ts";
import { post, postUntilDecided } from "../faults/processes.ts";
import { perFile } from "../support/file-fixture.ts";
import { tables } from "../support/rows.ts";
import type { Answered, TestSystem } from "../support/system.ts";
import { scenarioTest } from "./fixtures.ts";

const test = scenarioTest
  /**
   * A request to one of the two API processes, each under a new key. If the ledger takes longer
   * than an answer, as on a busy machine, the request is repeated until it has its outcome.
   */
  .extend(
    "at",
    perFile,
    ({ system, second }) =>
      async (
        url: number,
        { apiKey }: CreatedOrganisation,
        path: string,
        body: object,
      ): Promise<Answered> => {
        const baseUrl = url % 2 === 0 ? system.baseUrl : second.baseUrl;
        const what = { path, key: apiKey, idempotencyKey: `race-${++keys}`, body };
        const answer = await post(baseUrl, what);
        if (answer === null) throw new Error("no answer");
        return answer.status === 502 ? postUntilDecided(baseUrl, what) : answer;
      },
  );

let keys = 0;

/** `200`, or the code of the refusal. */
const outcomeOf = ({ status, json }: Answered): string =>
  status === 200 ? "200" : json.error.code;

const now = { when: "now", delete_unsent_invoices: true };
const amend = { units: 14, prorate: true, effective_date: "2026-04-16", document: "amend" };

describe("ten concurrent ends", () => {
  const count = 10;

  test("of one subscription: one succeeds, the others see it run or find it ended", async ({
    ends,
    at,
  }) => {
    const endable = await ends.withThree();
    const path = `/v1/subscriptions/${endable.id}/end`;
    const answers = await Promise.all(
      Array.from({ length: count }, (_, n) => at(n, endable.own, path, now)),
    );
    const losers = Array.from({ length: count - 1 }, () => "invalid_state");
    expect(answers.map(outcomeOf).sort()).toEqual(["200", ...losers]);
    for (const { status, json } of answers) {
      if (status !== 200) expect(json.error.message).toMatch(/is being ended|has ended already/);
    }
    await ends.expectEnded(endable);
    expect(await ends.builder.removals(endable.own, endable.id)).toEqual(threeRemoved);
  });

  test("with one key: one succeeds, and all get its answer", async ({ system, second, ends }) => {
    const endable = await ends.withThree();
    const urls = [system.baseUrl, second.baseUrl];
    const what = endPost(endable, "one-key");
    const answers = await Promise.all(
      Array.from({ length: count }, (_, n) => postUntilDecided(urls[n % 2] ?? "", what)),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers.map(outcomeOf)).toEqual(Array.from({ length: count }, () => "200"));
    expect(
      answers.filter(({ headers }) => headers.get("idempotent-replayed") === null),
    ).toHaveLength(1);
    await ends.expectEnded(endable);
  });

  test("of so many subscriptions, each with one invoice to remove: all succeed", async ({
    ends,
    at,
  }) => {
    const own = await ends.builder.sandbox();
    const created = await Promise.all(
      Array.from({ length: count }, () => ends.builder.subscribe(own)),
    );
    const answers = await Promise.all(
      created.map(({ id }, n) => at(n, own, `/v1/subscriptions/${id}/end`, now)),
    );
    expect(answers.map(outcomeOf)).toEqual(created.map(() => "200"));
    await ends.builder.expectEqualDocuments(own);
    expect(
      (await ends.builder.ledgerStatuses(own)).filter((shown) => !shown.endsWith("DELETED")),
    ).toEqual([]);
  });
});

/** Ends of the subscription that were carried to their end. */
const terminations = (system: TestSystem, { id }: Endable): Promise<number> =>
  tables(system.pool).termination.count({ where: { subscriptionId: id, ended: true } });

/** Trials of each race, half of them in each order. */
const trials = 4;

describe("an end and", () => {
  test("concurrent changes of units: one end, and every accepted change before it", async ({
    system,
    ends,
    at,
  }) => {
    const seen = new Set<string>();
    const change = { units: 14, prorate: true, effective_date: "2026-04-16", document: "separate" };
    for (let trial = 0; trial < trials; trial += 1) {
      const endable = await ends.withThree();
      const { own, id } = endable;
      const actions = ["end", "units", "end", "units"];
      const answers = await Promise.all(
        actions.map((one, n) =>
          at(n + trial, own, `/v1/subscriptions/${id}/${one}`, one === "end" ? now : change),
        ),
      );
      const shown = answers.map(outcomeOf);
      for (const one of shown) seen.add(one);
      expect([shown[0], shown[2]].toSorted()).toEqual(["200", "invalid_state"]);
      const changed = [shown[1], shown[3]].filter((one) => one === "200").length;
      await ends.builder.posted(own);
      expect(await terminations(system, endable)).toBe(1);
      const { status, units } = await ends.builder.subscription(own, id);
      expect([status, units]).toEqual(["ended", changed === 1 ? 14 : 12]);
      expect(await ends.builder.invoices(own, id)).toHaveLength(3 + changed);
      await ends.builder.expectEqualDocuments(own);
    }
    const known = ["200", "invalid_state", "units_unchanged", "subscription_not_changeable"];
    expect([...seen].filter((one) => !known.includes(one))).toEqual([]);
  });

  test("an amendment: the later one is refused while the earlier one runs", async ({
    ends,
    at,
  }) => {
    for (let trial = 0; trial < trials; trial += 1) {
      const own = await ends.builder.sandbox({
        invoice_create_days: 20,
        first_invoice_status: "approved",
      });
      await ends.builder.setClock(own, "2026-04-16");
      const { id } = await ends.builder.subscribe(own, { start_date: "2026-04-01" });
      const path = `/v1/subscriptions/${id}`;
      const both = [
        at(trial, own, `${path}/end`, { when: "now" }),
        at(trial + 1, own, `${path}/units`, amend),
      ];
      const [ended, changed] = (await Promise.all(trial % 2 === 0 ? both : both.toReversed()))
        .map(outcomeOf)
        .toSorted();
      const pair = [ended, changed].join();
      expect(["200,200", "200,invalid_state", "200,subscription_not_changeable"]).toContain(pair);
      await ends.builder.expectEqualDocuments(own);
      const subscription = await ends.builder.subscription(own, id);
      const invoices = await ends.builder.invoices(own, id);
      if (subscription.status === "active") {
        // The change came first: its charge is on the renewal invoice, and the end can be requested
        // again.
        expect(invoices[0]).toMatchObject({
          type: "renewal",
          status: "approved",
          subtotal: "160.0000",
        });
        expect((await ends.builder.end(own, id, { when: "now" })).status).toBe(200);
      }
      await ends.builder.posted(own);
      // In either order, the charge of an accepted change is billed once.
      const after = await ends.builder.invoices(own, id);
      const charged = after.filter(({ type }) => type === "change").map(({ subtotal }) => subtotal);
      const isChanged = (await ends.builder.subscription(own, id)).units === 14;
      expect(charged).toEqual(isChanged ? ["20.0000"] : []);
      expect(after.find(({ type }) => type === "renewal")?.status).toBe("voided");
    }
  });

  test("another end at period end: both may succeed, and the later one holds", async ({
    ends,
    at,
  }) => {
    for (let trial = 0; trial < trials; trial += 1) {
      const own = await ends.builder.sandbox();
      await ends.builder.setClock(own, "2026-04-16");
      const { id } = await ends.builder.subscribe(own, { start_date: "2026-04-01" });
      const path = `/v1/subscriptions/${id}/end`;
      const [atEnd, atOnce] = await Promise.all([
        at(trial, own, path, { when: "period_end" }),
        at(trial + 1, own, path, { when: "now" }),
      ]);
      expect(outcomeOf(atOnce)).toBe("200");
      expect(["200", "invalid_state"]).toContain(outcomeOf(atEnd));
      expect(await ends.builder.subscription(own, id)).toMatchObject({
        status: "ended",
        cancel_at_period_end: false,
      });
    }
  });
});
