/** The fixtures of tests of changes of units in the middle of April. */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { perFile } from "../support/file-fixture.ts";
import { type Refused, refusalOf } from "./checked-ask.ts";
import { scenarioTest } from "./fixtures.ts";
import { expectRefusedAlike } from "./preview-comparison.ts";
import { rowsOf } from "./row-builder.ts";
import { addBands, type Json } from "./units-builder.ts";

/** April has 30 days: from its 16th on half of it is left. */
export const april = { start_date: "2026-04-01" };
export const half = { prorate: true, effective_date: "2026-04-16" };

/** A change that bills nothing at once. */
export const nothing = {
  invoice: null,
  renewal_invoice: null,
  deferred_to_renewal: false,
  credit_note: null,
};

/** A line of a proration of the plan Team, 15 of 30 days. */
export function halfLine(from: number, to: number, amount: string, arithmetic: string): object {
  return {
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    kind: "proration",
    name: "Team",
    description: `${from} to ${to} seats, 15 of 30 days: (${arithmetic}) × 15 ÷ 30`,
    units: null,
    quantity: null,
    unit_price: null,
    amount,
    period: { start: "2026-04-16", end: "2026-05-01" },
    proration: { from_units: from, to_units: to, days_remaining: 15, days_in_period: 30 },
  };
}

/**
 * Tests in two organisations on 16 April. In `drafts` new invoices are drafts; in `approved` they
 * are approved at once, so that no charge can join one.
 */
export const unitsTest = scenarioTest
  .extend("drafts", perFile, async ({ builder }) => {
    const drafts = await builder.sandbox({}, "EUR");
    await builder.setClock(drafts, "2026-04-16");
    return drafts;
  })
  .extend("approved", perFile, async ({ builder }) => {
    const approved = await builder.sandbox({ first_invoice_status: "approved" });
    await builder.setClock(approved, "2026-04-16");
    return approved;
  });

/**
 * Tests in two organisations on 16 April with the plan `bands`. `own` issues no renewal invoice
 * ahead; in `ahead`, what renews on 1 May has its renewal invoice, approved. `refusal` returns the
 * refusal of a change and of its preview, which must leave everything as it was.
 */
export const refusedUnitsTest = scenarioTest
  .extend("own", perFile, async ({ system, builder }) => {
    const own = await builder.sandbox({ first_invoice_status: "approved" });
    await addBands(system, own);
    await builder.setClock(own, "2026-04-16");
    return own;
  })
  .extend("ahead", perFile, async ({ system, builder }) => {
    const inAdvance = { first_invoice_status: "approved", invoice_create_days: 20 };
    const ahead = await builder.sandbox(inAdvance);
    await addBands(system, ahead);
    await builder.setClock(ahead, "2026-04-16");
    return ahead;
  })
  .extend(
    "subscribed",
    perFile,
    ({ builder }) =>
      (organisation: CreatedOrganisation, body: object = {}): Promise<Json> =>
        builder.subscribe(organisation, { ...april, ...body }),
  )
  .extend(
    "refusal",
    perFile,
    ({ system, ask, builder }) =>
      async (organisation: CreatedOrganisation, id: string, body: unknown): Promise<Refused> => {
        const before = await rowsOf(system, organisation);
        const answer = await builder.change(organisation, id, body);
        const asked = { key: organisation.apiKey, body };
        await expectRefusedAlike(ask, `/v1/subscriptions/${id}/units`, asked, answer);
        expect(await rowsOf(system, organisation)).toBe(before);
        return refusalOf(answer);
      },
  );
