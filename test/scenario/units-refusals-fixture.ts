/** The fixtures of tests of refused changes of units. */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../src/dev/local-stack/demo/first-data.ts";
import { perFile } from "../support/file-fixture.ts";
import type { TestSystem } from "../support/system.ts";
import { type Refused, refusalOf } from "./checked-ask.ts";
import { scenarioTest } from "./fixtures.ts";
import { addBands, type Json } from "./units-builder.ts";

/** A start at the beginning of the current period. */
export const april = { start_date: "2026-04-01" };

/**
 * Tests in two organisations on 16 April with the plan `bands`. `own` issues no renewal invoice
 * ahead; in `ahead`, what renews on 1 May has its renewal invoice, approved. `refusal` returns the
 * refusal of a change, which must leave everything as it was.
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
    ({ system, builder }) =>
      async (organisation: CreatedOrganisation, id: string, body: unknown): Promise<Refused> => {
        const before = await rowsOf(system, organisation);
        const answer = await builder.change(organisation, id, body);
        expect(await rowsOf(system, organisation)).toBe(before);
        return refusalOf(answer);
      },
  );

/** Everything of an organisation that a change could write, as text. */
async function rowsOf(
  system: TestSystem,
  { organisationId }: CreatedOrganisation,
): Promise<string> {
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
