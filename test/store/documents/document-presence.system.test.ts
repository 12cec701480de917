/**
 * The SQL of a document's presence and its readers, held to the domain for every status, with the
 * ledger's id or without. DOCUMENT-7.
 */
import { expect } from "vitest";
import {
  isNeverThere,
  keepsPlace,
  presenceOf,
} from "../../../src/domain/billing/document-presence.ts";
import type { DocumentStatus } from "../../../src/domain/model/invoice.ts";
import { sql } from "../../../src/store/database/sql/sql.ts";
import * as conditions from "../../../src/store/documents/document-presence.ts";
import { loseDocuments } from "../../../src/store/ledger-sync/sync-invoices.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { usageTest as test, type UsageFixture } from "../billing/usage-fixture.ts";
import { billedSeparately, volumeCredit } from "../subscriptions/next-period-builder.ts";

/** Each status, with the ledger's id or without, as far as the constraints allow it. */
const documents = [
  ["draft", true],
  ["awaiting_approval", true],
  ["approved", true],
  ["paid", true],
  ["scheduled", false],
  ["not_in_external", false],
  ["not_in_external", true],
  ["voided", true],
  ["deleted", true],
  ["deleted", false],
] as const satisfies readonly (readonly [DocumentStatus, boolean])[];

/** Writes the status and the ledger's id of all documents of a kind. */
async function write(
  { pool }: UsageFixture,
  subscriptionId: string,
  [status, inLedger]: (typeof documents)[number],
): Promise<void> {
  const error = status === "not_in_external" ? "Refused." : null;
  for (const [table, ledgerId] of [
    ["invoices", "ledger_invoice_id"],
    ["credit_notes", "ledger_credit_note_id"],
  ] as const)
    await pool.query(
      `UPDATE ${table} SET status = $2, sync_error = $3,
        ${ledgerId} = CASE WHEN $4 THEN coalesce(${ledgerId}, id::text) END
        WHERE subscription_id = $1`,
      [subscriptionId, status, error, inLedger],
    );
}

test("the SQL says of every document what the domain says", async ({ fixture: { pool } }) => {
  const { rows } = await pool.query(
    `SELECT ${conditions.stands(sql`d`)} AS stands, ${conditions.counts(sql`d`)} AS counts,
      ${conditions.isNeverThere(sql`d`)} AS "isNeverThere",
      ${conditions.keepsPlace(sql`d`)} AS "keepsPlace"
    FROM jsonb_to_recordset($1) AS d(status text, ledger_invoice_id text)`,
    [
      JSON.stringify(
        documents.map(([status, inLedger]) => ({
          status,
          ledger_invoice_id: inLedger ? "id" : null,
        })),
      ),
    ],
  );
  expect(rows).toEqual(
    documents.map(([status, inLedger]) => ({
      stands: presenceOf({ status }) === "stands",
      counts: presenceOf({ status }) !== "nowhere",
      isNeverThere: isNeverThere({ status, inLedger }),
      keepsPlace: keepsPlace({ status, inLedger }),
    })),
  );
});

test.for(
  documents,
)("every reader takes an invoice that is %s, in the ledger: %s, as it is", async (document, {
  fixture,
}) => {
  const [status, inLedger] = document;
  const { organisation, id, now } = await billedSeparately(fixture);
  await write(fixture, id, document);
  const { state, facts } = await createStore(fixture.pool)
    .tenant(organisation, now)
    .onCurrentSubscription(id, async (tx, state) => {
      return { state, facts: await tx.terminations.loadFacts(state) };
    });
  const isKept = keepsPlace({ status, inLedger });
  const numbers = isKept ? ["INV-0003", "INV-0002", "INV-0001"] : [];
  expect(state.invoices.map(({ number }) => number)).toEqual(numbers);
  expect(facts.invoices.map(({ number }) => number)).toEqual(numbers);
  // No end has removed the renewal invoice.
  expect(state.endRemovedRenewal).toBe(false);
  expect(facts.next.lines.map(({ number }) => number)).toEqual(
    presenceOf({ status }) === "nowhere" ? [] : ["INV-0003"],
  );
  const { rows } = await fixture.pool.query<{ ledgerId: string; at: string }>(
    `SELECT ledger_invoice_id AS "ledgerId", clock_timestamp()::text AS at FROM invoices
      WHERE subscription_id = $1 AND ledger_invoice_id IS NOT NULL`,
    [id],
  );
  const ids = rows.map(({ ledgerId }) => ledgerId);
  const at = rows[0]?.at ?? "now";
  const lost = await loseDocuments(fixture.pool, organisation, "invoices", ids, at);
  expect(lost.changed).toBe(presenceOf({ status }) === "stands" ? 3 : 0);
});

test.for(
  documents,
)("an end takes back a credit note that is %s, in the ledger: %s, as it is", async (document, {
  fixture,
}) => {
  const [status] = document;
  const { organisation, id, now } = await volumeCredit(fixture);
  await write(fixture, id, document);
  const next = await createStore(fixture.pool)
    .tenant(organisation, now)
    .onCurrentSubscription(id, async (tx, state) => (await tx.terminations.loadFacts(state)).next);
  expect(next.lines.map(({ number }) => number)).toEqual(
    presenceOf({ status }) === "nowhere" ? [] : ["CN-0001"],
  );
});
