/**
 * Refusals of an end over HTTP, which leave nothing behind, and an end whose answer was lost. The
 * domain holds every refusal and their order.
 */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { perFile } from "../support/file-fixture.ts";
import { fromNow, setOrganisation, tables } from "../support/rows.ts";
import { type Refused, refusalOf, refused } from "./checked-ask.ts";
import { scenarioTest } from "./fixtures.ts";
import { expectRefusedAlike } from "./preview-comparison.ts";
import { rowsOf } from "./row-builder.ts";

const now = { when: "now" };
const periodEnd = { when: "period_end" };
const conflict = refused(409, "invalid_state");

const test = scenarioTest
  /** A subscription on 16 April, with its renewal invoice. */
  .extend("withRenewal", perFile, ({ builder, aheadOf }) => async () => {
    const own = await aheadOf();
    return { own, ...(await builder.subscribe(own, { start_date: "2026-04-01" })) };
  })
  /** The refusal of an end and its preview, which leave everything as it was, and its message. */
  .extend(
    "refusal",
    perFile,
    ({ system, ask, builder }) =>
      async (own: CreatedOrganisation, id: string, body: unknown): Promise<[Refused, string]> => {
        const before = await rowsOf(system, own);
        const answer = await builder.end(own, id, body);
        const asked = { key: own.apiKey, body };
        await expectRefusedAlike(ask, `/v1/subscriptions/${id}/end`, asked, answer);
        expect(await rowsOf(system, own)).toBe(before);
        return [refusalOf(answer), answer.json.error.message];
      },
  );

test("an invoice option with period_end is refused before the state", async ({
  builder,
  withRenewal,
  refusal,
}) => {
  const { own, id } = await withRenewal();
  await builder.ended(own, id, now);
  for (const option of ["delete_unsent_invoices", "void_approved_invoices"]) {
    const [shown] = await refusal(own, id, { ...periodEnd, [option]: true });
    expect(shown).toEqual(refused(422, "invoice_option_not_allowed", option));
  }
});

test("an end in Setup Mode is refused if a renewal invoice has to be removed", async ({
  system,
  withRenewal,
  refusal,
}) => {
  const { own, id } = await withRenewal();
  await setOrganisation(system.pool, own.organisationId, { setupMode: true });
  const message =
    "The organisation is in Setup Mode: the renewal invoice INV-0002 would have to be removed.";
  for (const body of [now, periodEnd])
    expect(await refusal(own, id, body)).toEqual([conflict, message]);
});

test("a key without a stored answer finds its end, and nothing is done twice", async ({
  system,
  builder,
  withRenewal,
}) => {
  const { own, id } = await withRenewal();
  const endAgain = async (body: object) => {
    const where = { organisationId: own.organisationId, key: "lost-answer" };
    await tables(system.pool).idempotencyKey.deleteMany({ where });
    return builder.end(own, id, body, "lost-answer");
  };
  const first = await endAgain(now);
  const again = await endAgain(now);
  expect([again.status, again.json]).toEqual([200, first.json]);
  expect(again.headers.get("Idempotent-Replayed")).toBeNull();
  expect(refusalOf(await endAgain(periodEnd))).toEqual(refused(409, "idempotency_conflict"));
  // After its 24 hours the key stands for a new request.
  await tables(system.pool).termination.updateMany({
    where: { subscriptionId: id },
    data: { createdAt: fromNow(-24 * 60) },
  });
  expect(refusalOf(await endAgain(now))).toEqual(conflict);
});
