/** Whether a change of an invoice is refused because its amounts mean something else. LEDGER-20 */
import { expect, test } from "vitest";
import { maxMerges } from "../../../src/domain/customers/sync-contact.ts";
import { checkDrift } from "../../../src/ledger/port/drift.ts";
import { notFound, unreadable } from "../../../src/ledger/port/failures.ts";
import type { LedgerContact } from "../../../src/ledger/port/ledger.ts";

const meaning = { contactId: "0", currency: "NZD", lineAmounts: "exclusive" } as const;
const invoice = { ...meaning, number: "INV-0001" };

/** Contacts that were each merged into the next, from 0 to `last`. Reads are counted. */
function mergedUpTo(last: number) {
  const reads: string[] = [];
  const getContact = async (id: string) => {
    reads.push(id);
    const mergedInto = Number(id) < last ? String(Number(id) + 1) : null;
    return { kind: "ok", value: { mergedInto } as LedgerContact } as const;
  };
  return { reads, getContact };
}

const drift = { kind: "refused", reason: "drift" };

test("an invoice of our contact is checked without a read", async () => {
  const { reads, getContact } = mergedUpTo(0);
  expect(await checkDrift(invoice, meaning, getContact)).toEqual({ kind: "ok", value: null });
  expect(await checkDrift({ ...invoice, currency: "GBP" }, meaning, getContact)).toMatchObject({
    ...drift,
    messages: ["Invoice INV-0001 was changed in the ledger: its currency is GBP."],
  });
  expect(await checkDrift({ ...invoice, currency: "GBP" }, undefined, getContact)).toMatchObject({
    kind: "ok",
  });
  expect(reads).toEqual([]);
});

test.for([
  [1, "ok"],
  [maxMerges, "ok"],
  [maxMerges + 1, "refused"],
] as const)("a contact that ours became by %i merges is %s", async ([merges, kind]) => {
  const { reads, getContact } = mergedUpTo(merges);
  const moved = { ...invoice, contactId: String(merges) };
  expect(await checkDrift(moved, meaning, getContact)).toMatchObject({ kind });
  expect(reads).toHaveLength(Math.min(merges, maxMerges));
});

test("a contact that ours was not merged into, or that is gone, is drift", async () => {
  const other = { ...invoice, contactId: "another" };
  expect(await checkDrift(other, meaning, mergedUpTo(1).getContact)).toMatchObject(drift);
  expect(await checkDrift(other, meaning, async () => notFound)).toMatchObject(drift);
});

test("a contact that cannot be read decides nothing", async () => {
  const failure = unreadable("no answer", false);
  const other = { ...invoice, contactId: "another" };
  expect(await checkDrift(other, meaning, async () => failure)).toBe(failure);
});
