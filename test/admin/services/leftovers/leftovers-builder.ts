/**
 * Fixtures of tests of leftovers: an owner's calls, the list, and putting the only leftover right.
 */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../../../packages/dev/src/demo/first-data.ts";
import { scenarioTest } from "../../../scenario/fixtures.ts";
import type { Json } from "../../../scenario/units-builder.ts";
import { perFile } from "../../../support/file-fixture.ts";
import { type AdminAsk, askWith } from "../request.ts";

/** What a subscription begins with. */
export const april = { start_date: "2026-04-01" };

/** A subscription in a new organisation on 16 April, with its renewal invoice of May, a draft. */
interface Ahead {
  readonly own: CreatedOrganisation;
  readonly id: string;
  readonly renewal: Json;
}

/** Scenarios with the calls of an owner. */
export const leftoverTest = scenarioTest
  .extend("admin", perFile, async ({ system }) =>
    askWith(system, await system.operator("owner", "Olga")),
  )
  .extend("ahead", perFile, ({ builder, aheadOf }) => async (): Promise<Ahead> => {
    const own = await aheadOf();
    const { id } = await builder.subscribe(own, april);
    const [renewal] = await builder.invoices(own, id);
    return { own, id, renewal };
  });

/** A prorated change of the second half of April. */
export const half = { prorate: true, effective_date: "2026-04-16" };
/** The reason for each act. */
export const reason = "Left by an old fault";

/** The leftovers of an organisation. */
export const leftoversOf = async (
  admin: AdminAsk,
  organisation: string,
): Promise<readonly Json[]> =>
  (await admin.done("BillingService/ListLeftovers", { organisation })).data ?? [];

/** Puts the only leftover right. Afterwards nothing is listed, and it cannot be done again. */
export async function mended(
  admin: AdminAsk,
  organisation: string,
  expected: object,
): Promise<Json[]> {
  const [row, ...rest] = await leftoversOf(admin, organisation);
  expect([row, rest]).toEqual([expect.objectContaining(expected), []]);
  const request = { organisation, id: row.id, reason };
  const both = await Promise.all([
    admin.ask("BillingService/MendLeftover", request),
    admin.ask("BillingService/MendLeftover", request),
  ]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
  const { leftover, documents = [] } = both.find(({ status }) => status === 200)?.json ?? {};
  expect(leftover).toEqual(row);
  expect(await leftoversOf(admin, organisation)).toEqual([]);
  expect(await admin.refused("BillingService/MendLeftover", request)).toBe("invalid_state");
  const entries = await admin.done("AuditService/ListAuditEntries", { target: row.subscription });
  const own = entries.data.filter(({ operation }: Json) => operation.endsWith("/MendLeftover"));
  expect(own).toMatchObject([
    { operatorName: "Olga", before: { leftover: row.id }, after: { reason } },
  ]);
  return documents;
}

/** What is compared of issued documents. */
export const shown = (documents: readonly Json[]) =>
  documents.map(({ kind, type, subtotal }) => [kind, type, subtotal]);
