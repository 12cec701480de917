/**
 * Refusals of an end over HTTP, which leave nothing behind, and ends over every protocol. The
 * domain holds every refusal and their order.
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { EndWhen } from "../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { perFile } from "../support/file-fixture.ts";
import { setOrganisation, tables } from "../support/rows.ts";
import type { TestSystem } from "../support/system.ts";
import { type Refused, refusalOf, refused } from "./checked-ask.ts";
import { scenarioTest } from "./fixtures.ts";
import { expectRefusedAlike } from "./preview-comparison.ts";
import { callsTo, protocols } from "./procedures.ts";
import { rowsOf } from "./row-builder.ts";
import type { Json } from "./units-builder.ts";

/** `own` is on 16 April and issues no renewal invoice ahead. */
const test = scenarioTest
  .extend("own", perFile, async ({ builder }) => {
    const own = await builder.sandbox();
    await builder.setClock(own, "2026-04-16");
    return own;
  })
  /** The refusal of an end and its preview, which leave everything as it was, and its message. */
  .extend(
    "refusal",
    perFile,
    ({ system, ask, builder }) =>
      async (
        organisation: CreatedOrganisation,
        id: string,
        body: unknown,
      ): Promise<[Refused, string]> => {
        const before = await rowsOf(system, organisation);
        const answer = await builder.end(organisation, id, body);
        const asked = { key: organisation.apiKey, body };
        await expectRefusedAlike(ask, `/v1/subscriptions/${id}/end`, asked, answer);
        expect(await rowsOf(system, organisation)).toBe(before);
        return [refusalOf(answer), answer.json.error.message];
      },
  );

const april = { start_date: "2026-04-01" };
const now = { when: "now" };
const periodEnd = { when: "period_end" };
const conflict = refused(409, "invalid_state");
const invalid = (param: string | null) => refused(422, "invalid_parameter", param);

describe("a body of another shape", () => {
  test.for<[string, string, string | null]>([
    ["no member", "{}", "when"],
    ["another time", '{"when":"later"}', "when"],
  ] as const)("%s", async ([_, body, param], { own, refusal }) => {
    expect((await refusal(own, randomUUID(), body))[0]).toEqual(invalid(param));
  });
});

describe("an invoice option with period_end", () => {
  test.for([
    "delete_unsent_invoices",
    "void_approved_invoices",
  ])("%s is refused, false is not", async (option, { builder, own, refusal }) => {
    const { id } = await builder.subscribe(own, april);
    const [shown] = await refusal(own, id, { ...periodEnd, [option]: true });
    expect(shown).toEqual(refused(422, "invoice_option_not_allowed", option));
    expect(
      (await builder.ended(own, id, { ...periodEnd, [option]: false })).cancel_at_period_end,
    ).toBe(true);
    // It comes before the state.
    await builder.ended(own, id, now);
    expect((await refusal(own, id, { ...periodEnd, [option]: true }))[0].code).toBe(
      "invoice_option_not_allowed",
    );
  });
});

describe("an end in Setup Mode", () => {
  test("is refused if a renewal invoice or a deferred amount needs a document", async ({
    system,
    builder,
    own,
    refusal,
  }) => {
    const ahead = await builder.sandbox({ invoice_create_days: 20 });
    await builder.setClock(ahead, "2026-04-16");
    const { id } = await builder.subscribe(ahead, april);
    await setupMode(system, ahead, true);
    for (const body of [now, periodEnd]) {
      const message =
        "The organisation is in Setup Mode: the renewal invoice INV-0002 would have to be removed.";
      expect(await refusal(ahead, id, body)).toEqual([conflict, message]);
    }
    const deferring = await builder.subscribe(own, april);
    const half = {
      prorate: true,
      effective_date: "2026-04-16",
      proration_behaviour: "charge_on_renewal",
    };
    await builder.changed(own, deferring.id, { units: 12, ...half });
    await setupMode(system, own, true);
    const message =
      "The organisation is in Setup Mode: a deferred amount would have to be invoiced.";
    expect(await refusal(own, deferring.id, now)).toEqual([conflict, message]);
    expect((await builder.ended(own, deferring.id, periodEnd)).cancel_at_period_end).toBe(true);
    await setupMode(system, own, false);
    expect((await builder.ended(own, deferring.id, now)).status).toBe("ended");
    await builder.posted(own);
    expect(await builder.summaries(own, deferring.id)).toEqual([
      expect.stringMatching(/^INV-\d+ change draft$/),
      expect.stringMatching(/^INV-\d+ first draft$/),
    ]);
  });
});

async function setupMode(
  system: TestSystem,
  { organisationId }: CreatedOrganisation,
  on: boolean,
): Promise<void> {
  await setOrganisation(system.pool, organisationId, { setupMode: on });
}

describe("an Idempotency-Key of an end", () => {
  test("replays the answer, also after later operations, and belongs to one request", async ({
    builder,
    own,
  }) => {
    const { id } = await builder.subscribe(own, april);
    const first = await builder.end(own, id, periodEnd, "key-of-an-end");
    await builder.ended(own, id, now);
    const again = await builder.end(own, id, periodEnd, "key-of-an-end");
    expect([again.status, again.text, again.headers.get("Idempotent-Replayed")]).toEqual([
      200,
      first.text,
      "true",
    ]);
    const other = await builder.end(own, id, now, "key-of-an-end");
    expect(refusalOf(other)).toEqual(refused(409, "idempotency_conflict", "Idempotency-Key"));
  });

  test("without a stored answer finds the end, and nothing is done twice", async ({
    system,
    builder,
    own,
  }) => {
    const { id } = await builder.subscribe(own, april);
    const first = await builder.end(own, id, now, "lost-answer");
    await tables(system.pool).idempotencyKey.deleteMany({ where: { key: "lost-answer" } });
    const again = await builder.end(own, id, now, "lost-answer");
    expect([again.status, again.json]).toEqual([200, first.json]);
    expect(again.headers.get("Idempotent-Replayed")).toBeNull();
    await tables(system.pool).idempotencyKey.deleteMany({ where: { key: "lost-answer" } });
    const other = await builder.end(own, id, periodEnd, "lost-answer");
    expect(refusalOf(other)).toEqual(refused(409, "idempotency_conflict"));
    await tables(system.pool).idempotencyKey.deleteMany({ where: { key: "lost-answer" } });
    // After its 24 hours the key stands for a new request.
    await system.pool.query(
      `UPDATE terminations SET created_at = created_at - interval '24 hours'
        WHERE subscription_id = $1`,
      [id],
    );
    expect(refusalOf(await builder.end(own, id, now, "lost-answer"))).toEqual(conflict);
  });
});

describe.each(protocols)("an end over %s", (protocol) => {
  const call = (
    system: TestSystem,
    own: CreatedOrganisation,
    request: Record<string, unknown>,
    key: string,
  ) =>
    callsTo(system.baseUrl)(protocol, "EndSubscription", request, {
      key: own.apiKey,
      headers: { "Idempotency-Key": key },
    });
  const keyOf = (name: string) => `${name} ${protocol}`.replaceAll(" ", "-");

  test("succeeds as over REST, and its key replays over REST", async ({ system, builder, own }) => {
    const { id, invoice } = await builder.subscribe(own, april);
    const request = { id, when: EndWhen.NOW, deleteUnsentInvoices: true };
    const { code, message } = await call(system, own, request, keyOf("end"));
    expect(code).toBeNull();
    const { subscription } = message as Json;
    expect(subscription).toMatchObject({
      id,
      status: "SUBSCRIPTION_STATUS_ENDED",
      end_date: "2026-04-16",
    });
    expect(await builder.ledgerStatuses(own)).toContain(`${invoice.number} DELETED`);
    const rest = await builder.end(own, id, { ...now, delete_unsent_invoices: true }, keyOf("end"));
    expect([rest.status, rest.json.status, rest.headers.get("Idempotent-Replayed")]).toEqual([
      200,
      "ended",
      "true",
    ]);
  });
});
