/**
 * Setup Mode and what still goes to the ledger: documents that wait refuse it, and held credit
 * waits until it is off. SETUP-1, SETUP-4.
 */
import { expect } from "vitest";
import { Refusal } from "../../../src/domain/refusal.ts";
import { databaseTest as test } from "../../support/fixtures.ts";
import { operatorWrites } from "../../support/operator-writes.ts";
import { setOrganisation, tables } from "../../support/rows.ts";
import { issueCredit, issueInvoice } from "../../worker/activities/issue-credit.ts";
import {
  addInvoice,
  addNote,
  addParty,
  entry,
  observedCredit,
  type Party,
  plan,
  planned,
  recordDone,
  recordRefused,
  take,
} from "./credit-party.ts";

const switchTo = ({ pool, organisationId }: Party, on: boolean) =>
  operatorWrites(pool).setSetupMode(organisationId, on);

/** The message of the refusal. */
async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Refusal)) throw new Error(`not refused: ${error}`);
  expect(error.code).toBe("invalid_state");
  return error.message;
}

/** The ledger has approved the organisation's drafts. */
const approve = ({ pool, organisationId }: Party) =>
  tables(pool).invoice.updateMany({ where: { organisationId }, data: { status: "approved" } });

test("held credit waits while Setup Mode is on, and is planned once it is off", async ({
  pool,
}) => {
  const party = await addParty(pool);
  await addNote(party, "10");
  await addInvoice(party, "30", { status: "draft" });
  await switchTo(party, true);
  await approve(party);
  expect(await plan(party)).toEqual([]);
  expect(await planned(party)).toEqual([]);
  await switchTo(party, false);
  expect(await planned(party)).toEqual(["ready 10.00 CN-0001 INV-0001"]);
});

test("a refused allocation is not retried in Setup Mode", async ({ pool }) => {
  const party = await addParty(pool);
  await addNote(party, "10");
  await addInvoice(party, "30");
  await recordRefused(party, await take(party), null);
  await switchTo(party, true);
  const rows = await tables(pool).creditNote.findMany({
    where: { organisationId: party.organisationId },
    select: { id: true },
  });
  const retry = operatorWrites(pool).retryDocument(party.organisationId, rows[0]?.id ?? "");
  expect(await refusal(retry)).toBe("The organisation is in Setup Mode: no document is posted.");
});

test("credit that is being allocated refuses Setup Mode on, by the number of its note", async ({
  pool,
}) => {
  const party = await addParty(pool);
  await addNote(party, "10");
  await addInvoice(party, "30");
  expect(await refusal(switchTo(party, true))).toContain(
    "With credit that is being allocated in the ledger: credit note CN-0001.",
  );
  const taken = await take(party);
  await recordDone(party, taken, observedCredit("10", "paid", entry(taken)));
  expect(await switchTo(party, true)).toMatchObject({ changed: true });
});

test.for([
  ["an invoice", issueInvoice, "invoice INV-0001"],
  ["a credit note", issueCredit, "credit note CN-0001"],
] as const)("%s that waits to be sent refuses Setup Mode on, and not off", async ([
  _,
  issue,
  name,
], { pool }) => {
  const party = await addParty(pool);
  await issue(pool, party.organisationId, party.subscriptionId, "10");
  expect(await refusal(switchTo(party, true))).toContain(
    `Still to be sent to the ledger: ${name}.`,
  );
  // As an earlier version left it.
  await setOrganisation(pool, party.organisationId, { setupMode: true });
  expect(await switchTo(party, false)).toMatchObject({ changed: true });
});
