/** What lines are stored with, so that they explain themselves later. MONEY-9. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import type { DocumentObject } from "../../../src/domain/explanation/named-facts.ts";
import { explain } from "../../../src/domain/explanation/render.ts";
import { loadDocumentToExplain } from "../../../src/store/documents/explained-documents.ts";
import { hashName } from "../../../src/store/documents/line-facts.ts";
import { expectExplained, writtenByTest } from "../../support/explained-documents.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import { usageTest as test, type UsageFixture } from "../billing/usage-fixture.ts";
import {
  billedSeparately,
  documentsOf,
  endWhole,
  type InWindow,
  inWindow,
  postAll,
  volumeCredit,
} from "../subscriptions/next-period-builder.ts";

const amend = { prorate: false, behaviour: null, effectiveDate: null, document: "amend" } as const;

/** The id of the organisation's document with this number. */
async function idOf({ pool }: UsageFixture, { organisation }: InWindow, number: string) {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT id FROM invoices WHERE organisation_id = $1 AND number = $2
      UNION ALL SELECT id FROM credit_notes WHERE organisation_id = $1 AND number = $2`,
    [organisation, number],
  );
  return rows[0]?.id ?? "";
}

/** What the document with this number says of itself. */
async function explanationOf(fixture: UsageFixture, at: InWindow, number: string) {
  const kind: DocumentObject = number.startsWith("CN") ? "credit_note" : "invoice";
  const id = await idOf(fixture, at, number);
  const document = await loadDocumentToExplain(fixture.pool, at.organisation, kind, id);
  if (document === null) throw new Error(`there is no ${number}`);
  return explain(document, hashName);
}

/** The rule and the amount of each of its lines. */
async function linesOf(fixture: UsageFixture, at: InWindow, number: string) {
  const explanation = await explanationOf(fixture, at, number);
  if (!explanation.available) throw new Error(`${number}: ${explanation.reason}`);
  return explanation.lines.map(({ rule, amount }) => `${rule} ${amount}`);
}

const changeUnits = ({ pool }: UsageFixture, { organisation, id, now }: InWindow, units: number) =>
  tenantWrites(pool, organisation).changeUnits({ id, now }, { ...amend, units });

test("a line that is amended twice says what it was before the last amendment", async ({
  fixture,
}) => {
  const at = await inWindow(fixture);
  const changes: string[] = [];
  for (const units of [12, 15]) {
    changes.push((await changeUnits(fixture, at, units)).id);
    await postAll(fixture, at);
  }
  const explanation = await explanationOf(fixture, at, "INV-0002");
  if (!explanation.available) throw new Error(explanation.reason);
  const [line] = explanation.lines;
  expect(line?.amount).toBe("187.5000");
  expect(line?.facts[0]?.source.id).toBe(changes[1]);
  expect(line?.was).toMatchObject({ until: "2026-04-01T12:00:00Z", amount: "150.0000" });
  expect(line?.was?.facts[0]?.source.id).toBe(changes[0]);
});

test("separate charges, their credit at an end and the reissue explain themselves", async ({
  fixture,
}) => {
  const at = await billedSeparately(fixture);
  await postAll(fixture, at);
  expect(await linesOf(fixture, at, "INV-0003")).toEqual([
    "proration/1 14.5200",
    "proration/1 50.0000",
  ]);
  await endWhole(fixture, at);
  expect(await linesOf(fixture, at, "CN-0001")).toEqual(["reversal_credit/1 50.0000"]);
  await postAll(fixture, at);
  await tenantWrites(fixture.pool, at.organisation).restore({ id: at.id, now: at.now });
  expect(await linesOf(fixture, at, "INV-0004")).toEqual(["plan/1 175.0000"]);
  await expectExplained(fixture.pool);
});

test("a volume credit and the charge that an end makes of it explain themselves", async ({
  fixture,
}) => {
  const at = await volumeCredit(fixture);
  await postAll(fixture, at);
  expect(new Set(await linesOf(fixture, at, "CN-0001"))).toEqual(
    new Set(["proration/1 4.0600", "proration/1 14.0000"]),
  );
  await endWhole(fixture, at);
  expect(await linesOf(fixture, at, "INV-0003")).toEqual(["reversal_charge/1 14.0000"]);
});

test("a sheet is stored once for all lines of a plan", async ({ fixture }) => {
  const at = await inWindow(fixture);
  await fixture.subscribe(at.organisation);
  const { rows } = await fixture.pool.query(
    "SELECT count(*)::int AS sheets FROM price_sheets WHERE organisation_id = $1",
    [at.organisation],
  );
  expect(rows).toEqual([{ sheets: 1 }]);
});

test("a line whose sheet is missing does not follow, and is not taken for an old one", async ({
  fixture,
}) => {
  const at = await inWindow(fixture);
  const { rows } = await fixture.pool.query<{ name: string; content: string }>(
    "DELETE FROM price_sheets WHERE organisation_id = $1 RETURNING name, content",
    [at.organisation],
  );
  expect(await explanationOf(fixture, at, "INV-0002")).toMatchObject({
    available: false,
    reason: "does_not_follow",
  });
  for (const { name, content } of rows)
    await fixture.pool.query(
      "INSERT INTO price_sheets (organisation_id, name, content) VALUES ($1, $2, $3)",
      [at.organisation, name, content],
    );
  expect((await explanationOf(fixture, at, "INV-0002")).available).toBe(true);
});

test("a line that an earlier version re-prices has no explanation of another amount", async ({
  fixture,
}) => {
  const at = await inWindow(fixture);
  const id = await idOf(fixture, at, "INV-0002");
  await fixture.pool.query(
    `WITH line AS (UPDATE invoice_lines SET units = 12, amount = 150 WHERE invoice_id = $1)
      UPDATE invoices SET subtotal = 150 WHERE id = $1`,
    [id],
  );
  expect(await explanationOf(fixture, at, "INV-0002")).toMatchObject({
    available: false,
    reason: "issued_before",
  });
  await writtenByTest(fixture.pool, at.organisation);
});

test.for([
  ["facts", "UPDATE deferred_lines SET facts = NULL WHERE organisation_id = $1"],
  ["price sheets", "DELETE FROM price_sheets WHERE organisation_id = $1"],
] as const)("a deferred amount is billed all the same without its %s", async ([, lost], {
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10", { first_invoice_status: "approved" });
  const id = await fixture.subscribe(organisation);
  const at = { organisation, id, now: new Date("2026-03-20T12:00:00Z") };
  await postAll(fixture, at);
  await fixture.setClock(organisation, "2026-03-20");
  await tenantWrites(fixture.pool, organisation).changeUnits(at, {
    units: 14,
    prorate: true,
    behaviour: "charge_on_renewal",
    effectiveDate: civilDate("2026-03-20"),
    document: null,
  });
  await fixture.pool.query(lost, [organisation]);
  await fixture.setClock(organisation, "2026-04-10");
  await fixture.bill(organisation);
  expect((await fixture.invoices(id)).at(-1)?.lines).toEqual([
    "plan 175.0000",
    "proration 33.8700",
  ]);
  expect(await explanationOf(fixture, at, "INV-0002")).toMatchObject({
    available: false,
    reason: "issued_before",
  });
  await writtenByTest(fixture.pool, organisation);
});

test.for([
  [
    "reversed",
    "period_end",
    { deleteUnsentInvoices: false, voidApprovedInvoices: false },
    ["CN-0001 approved 50.0000", "INV-0004 renewal scheduled 175.0000"],
  ],
  [
    "issued again",
    "now",
    { deleteUnsentInvoices: true, voidApprovedInvoices: true },
    [
      "INV-0004 first scheduled 125.0000",
      "INV-0005 change scheduled 14.5200",
      "INV-0006 renewal scheduled 175.0000",
    ],
  ],
] as const)("lines without facts are %s all the same", async ([, when, options, issued], {
  fixture,
}) => {
  const at = await billedSeparately(fixture);
  await postAll(fixture, at);
  for (const table of ["invoice_lines", "deferred_lines"])
    await fixture.pool.query(`UPDATE ${table} SET facts = NULL WHERE organisation_id = $1`, [
      at.organisation,
    ]);
  await endWhole(fixture, at, when, options);
  await postAll(fixture, at);
  await tenantWrites(fixture.pool, at.organisation).restore({ id: at.id, now: at.now });
  expect((await documentsOf(fixture, at)).slice(3)).toEqual(issued);
  await writtenByTest(fixture.pool, at.organisation);
});

test("a document of another organisation is not found", async ({ fixture }) => {
  const at = await inWindow(fixture);
  const other = await fixture.sandbox("2026-03-10");
  const id = await idOf(fixture, at, "INV-0001");
  const load = (organisation: string, wanted: string) =>
    loadDocumentToExplain(fixture.pool, organisation, "invoice", wanted);
  expect(await load(other, id)).toBeNull();
  expect(await load(at.organisation, randomUUID())).toBeNull();
  expect(await load(at.organisation, "none")).toBeNull();
});
