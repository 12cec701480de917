/**
 * Planning, taking and settling allocations on a real database: which pair is next, that nothing is planned twice or
 * missed, that only who holds an allocation settles it, and that a note's credit is never more or less than its total.
 * decisions §6.
 */
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type AllocationToSend,
  planAllocations,
  readAllocationWait,
  takeAllocation,
} from "../../src/store/allocations.ts";
import type { AllocationSeen } from "../../src/store/credit-mirror.ts";
import { newId } from "../../src/store/ids.ts";
import { takeCreditNotes, takeInvoices } from "../../src/store/operations.ts";
import { createPool, inTransaction } from "../../src/store/pool.ts";
import { type CreditSeen, settleAllocation } from "../../src/store/settle-allocations.ts";
import { type Settlement, settleOperations } from "../../src/store/settle-operations.ts";
import { addSubscription, anId, ourCredit, ourDue, raiseCredit, raiseInvoice } from "../activities/raise-credit.ts";
import { type FreshDatabase, freshDatabase } from "../support/database.ts";

let database: FreshDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await freshDatabase();
  pool = createPool({ databaseUrl: database.url, size: 8, name: "test" }, () => undefined);
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

/** A subscription in an organisation of its own. */
interface Party {
  readonly organisationId: string;
  readonly tenantId: string;
  readonly subscriptionId: string;
}

async function addParty(): Promise<Party> {
  const organisationId = newId();
  const values = [organisationId, newId(), newId()];
  await pool.query(
    `WITH organisation AS (
      INSERT INTO organisations (id, name, timezone, default_currency, livemode) VALUES ($1, 'Acme', 'UTC', 'NZD', true)
    ), customer AS (
      INSERT INTO customers (id, organisation_id, code, name, email, status, ledger_contact_id)
      VALUES ($2, $1, 'ACME', 'Acme', 'a@acme.example', 'active', 'contact')
    ) INSERT INTO plans (id, organisation_id, code, name, type, currency, price, status)
      VALUES ($3, $1, 'team', 'Team', 'per_unit', 'NZD', 10, 'active')`,
    values,
  );
  return { organisationId, tenantId: "", subscriptionId: await addSubscription(pool, organisationId) };
}

type Outcome = { readonly status: string; readonly due?: string; readonly total?: string };

/** An invoice that the ledger has taken, approved over this amount unless told otherwise. What was planned of it. */
async function addInvoice(
  party: Party,
  amount: string,
  outcome: Outcome = { status: "approved" },
): Promise<readonly string[]> {
  const { organisationId, subscriptionId } = party;
  await raiseInvoice(pool, organisationId, subscriptionId, amount);
  return settleOperations(pool, organisationId, await takenInvoices(party, amount, outcome));
}

async function takenInvoices(
  { organisationId }: Party,
  amount: string,
  outcome: Outcome,
): Promise<readonly Settlement[]> {
  const { ready } = await takeInvoices(pool, organisationId, 60_000);
  const { status, due = amount, total = amount } = outcome;
  return ready.map(({ id, attempts, lines }) => ({
    operationId: id,
    attempt: attempts,
    kind: "invoice_done",
    ledgerId: anId(),
    status,
    total,
    amountDue: due,
    sent: false,
    lines: lines.map((line) => ({ id: line.id, ledgerLineId: `line of ${line.id}` })),
  }));
}

/** A credit note that the ledger has approved over this amount. */
async function addNote(party: Party, amount: string): Promise<readonly string[]> {
  await raiseCredit(pool, party.organisationId, party.subscriptionId, amount);
  return settleOperations(pool, party.organisationId, await takenNotes(party, amount));
}

async function takenNotes({ organisationId }: Party, total: string): Promise<readonly Settlement[]> {
  const { ready } = await takeCreditNotes(pool, organisationId, 60_000);
  return ready.map(({ id, attempts }) => ({
    operationId: id,
    attempt: attempts,
    kind: "credit_note_done",
    ledgerId: anId(),
    status: "approved",
    total,
    sent: false,
  }));
}

/** The allocations of an organisation, as `state amount note invoice`. */
async function planned({ organisationId }: Party): Promise<readonly string[]> {
  const { rows } = await pool.query<{ told: string }>(
    `SELECT concat_ws(' ', o.state, round(o.amount, 2), n.number, i.number) AS told
      FROM operations o JOIN credit_notes n ON n.id = o.credit_note_id JOIN invoices i ON i.id = o.invoice_id
      WHERE o.organisation_id = $1 AND o.kind = 'allocate_credit' ORDER BY o.seq`,
    [organisationId],
  );
  return rows.map(({ told }) => told);
}

function plan({ organisationId, subscriptionId }: Party): Promise<readonly string[]> {
  return inTransaction(pool, (client) => planAllocations(client, organisationId, [subscriptionId]));
}

async function take({ organisationId, subscriptionId }: Party, leaseMs = 60_000): Promise<AllocationToSend> {
  const taken = await takeAllocation(pool, organisationId, subscriptionId, leaseMs);
  if (taken === null) throw new Error("there is nothing to take");
  return taken;
}

/** A note as it is seen with these allocations: over `total`, and all of it used where `status` is `paid`. */
function noteSeen(total: string, status: string, ...allocations: readonly AllocationSeen[]): CreditSeen {
  return { note: { status, total, sent: false, allocations }, invoice: null };
}

/** What the ledger shows of a taken allocation that was done. */
function entry({ invoiceLedgerId, amount }: AllocationToSend, id = anId()): AllocationSeen {
  return { id, invoiceId: invoiceLedgerId, amount, date: "2026-04-11" };
}

function settleDone(
  { organisationId, subscriptionId }: Party,
  { id, attempts }: AllocationToSend,
  seen: CreditSeen,
): Promise<void> {
  const settlement = { kind: "done", operationId: id, attempt: attempts } as const;
  return settleAllocation(pool, organisationId, subscriptionId, { settlement, amount: null, seen });
}

describe.concurrent("what is planned", () => {
  test("is the oldest note with its oldest later invoice, over the least of both", async () => {
    const party = await addParty();
    await addInvoice(party, "99");
    expect(await addNote(party, "10")).toEqual([]);
    await addNote(party, "20");
    expect(await addInvoice(party, "7")).toEqual([party.subscriptionId]);
    await addInvoice(party, "30");
    expect(await planned(party)).toEqual(["ready 7.00 CN-0001 INV-0002"]);
  });

  test.each([
    ["a draft", { status: "draft" }],
    ["one that waits for approval", { status: "awaiting_approval" }],
    ["a paid one", { status: "paid", due: "0" }],
    ["one of which nothing is due", { status: "approved", due: "0" }],
    ["a voided one", { status: "voided" }],
  ])("is never for %s", async (_, outcome) => {
    const party = await addParty();
    await addNote(party, "10");
    expect(await addInvoice(party, "7", outcome)).toEqual([]);
    expect(await plan(party)).toEqual([]);
  });

  test("is no more than is due where something has been paid", async () => {
    const party = await addParty();
    await addNote(party, "10");
    await addInvoice(party, "9", { status: "approved", due: "2.5" });
    expect(await planned(party)).toEqual(["ready 2.50 CN-0001 INV-0001"]);
  });

  test("is one step at a time, and the next one with its settlement", async () => {
    const party = await addParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    await addInvoice(party, "4");
    expect(await plan(party)).toEqual([]);
    const first = await take(party);
    await settleDone(party, first, noteSeen("10", "approved", entry(first)));
    expect(await planned(party)).toEqual(["done 4.00 CN-0001 INV-0001", "ready 4.00 CN-0001 INV-0002"]);
  });

  test("is nothing for other subscriptions, of this organisation or another", async () => {
    const [party, other] = await Promise.all([addParty(), addParty()]);
    await addNote(party, "10");
    await addInvoice(other, "4");
    const beside = { ...party, subscriptionId: await addSubscription(pool, party.organisationId) };
    await addInvoice(beside, "4");
    const mixed = { organisationId: party.organisationId, tenantId: "", subscriptionId: other.subscriptionId };
    for (const one of [party, other, beside, mixed]) expect(await plan(one)).toEqual([]);
  });

  test("leaves an invoice alone while it is amended", async () => {
    const party = await addParty();
    await addNote(party, "10");
    const { organisationId, subscriptionId } = party;
    const { id } = await raiseInvoice(pool, organisationId, subscriptionId, "4");
    await pool.query(
      `INSERT INTO operations (id, organisation_id, kind, state, subscription_id, invoice_id)
        VALUES ($1, $2, 'amend_invoice', 'ready', $3, $4)`,
      [newId(), organisationId, subscriptionId, id],
    );
    expect(
      await settleOperations(pool, organisationId, await takenInvoices(party, "4", { status: "approved" })),
    ).toEqual([]);
    await addInvoice(party, "5");
    expect(await planned(party)).toEqual(["ready 5.00 CN-0001 INV-0002"]);
    await pool.query("UPDATE operations SET state = 'done', settled_at = now() WHERE kind = 'amend_invoice'");
    const first = await take(party);
    await settleDone(party, first, noteSeen("10", "approved", entry(first)));
    expect((await planned(party)).at(-1)).toBe("ready 4.00 CN-0001 INV-0001");
  });

  test("is not missed where note and invoice are settled at the same moment", async () => {
    const parties = await Promise.all(Array.from({ length: 8 }, addParty));
    for (const party of parties) {
      await raiseCredit(pool, party.organisationId, party.subscriptionId, "10");
      await raiseInvoice(pool, party.organisationId, party.subscriptionId, "4");
      const [notes, invoices] = [
        await takenNotes(party, "10"),
        await takenInvoices(party, "4", { status: "approved" }),
      ];
      const both = await Promise.all([notes, invoices].map((one) => settleOperations(pool, party.organisationId, one)));
      expect(both.flat()).toEqual([party.subscriptionId]);
      expect(await planned(party)).toEqual(["ready 4.00 CN-0001 INV-0001"]);
    }
  });

  test("is one step, however many plan at once", async () => {
    const party = await addParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    await pool.query("DELETE FROM operations WHERE organisation_id = $1 AND kind = 'allocate_credit'", [
      party.organisationId,
    ]);
    const all = await Promise.all(Array.from({ length: 8 }, () => plan(party)));
    expect(all.flat()).toEqual([party.subscriptionId]);
  });
});

describe.concurrent("a taken allocation", () => {
  test("is held until its lease is over, and then uncertain", async () => {
    const party = await addParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    const { organisationId, subscriptionId } = party;
    expect(await take(party)).toMatchObject({ attempts: 1, isUncertain: false, amount: "4.0000", applied: "0" });
    expect(await takeAllocation(pool, organisationId, subscriptionId, 60_000)).toBeNull();
    expect(await readAllocationWait(pool, organisationId, subscriptionId)).toBeGreaterThan(50_000);
    await pool.query("UPDATE operations SET lease_until = now() WHERE organisation_id = $1 AND state = 'sending'", [
      organisationId,
    ]);
    expect(await take(party)).toMatchObject({ attempts: 2, isUncertain: true });
  });

  test("is settled only by who holds it", async () => {
    const party = await addParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    const late = await take(party, 0);
    const now = await take(party);
    await settleDone(party, late, noteSeen("10", "approved", entry(late)));
    expect(await planned(party)).toEqual(["uncertain 4.00 CN-0001 INV-0001"]);
    expect((await ourCredit(pool, party))[0]).toMatchObject({ remaining: "10.00", allocations: [] });
    await settleDone(party, now, noteSeen("10", "approved", entry(now)));
    await settleDone(party, now, noteSeen("10", "paid"));
    expect((await ourCredit(pool, party))[0]).toMatchObject({ status: "AUTHORISED", remaining: "6.00" });
  });

  test("keeps the amount that is to be sent next", async () => {
    const party = await addParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    const { id, attempts } = await take(party);
    const again = {
      kind: "again",
      operationId: id,
      attempt: attempts,
      delayMs: 0,
      countsAsAttempt: true,
      reason: "less",
    } as const;
    const settled = { settlement: again, amount: "1.2500", seen: null };
    await settleAllocation(pool, party.organisationId, party.subscriptionId, settled);
    expect(await take(party)).toMatchObject({ attempts: 2, isUncertain: false, amount: "1.2500" });
  });
});

describe.concurrent("what the ledger shows of a note", () => {
  test("is written with what it takes from its invoices, and back where it is taken back", async () => {
    const party = await addParty();
    await addInvoice(party, "50");
    await addNote(party, "10");
    await addInvoice(party, "4");
    const first = await take(party);
    const { rows } = await pool.query<{ ledger_invoice_id: string }>(
      "SELECT ledger_invoice_id FROM invoices WHERE organisation_id = $1 AND number = 'INV-0001'",
      [party.organisationId],
    );
    // By hand: some of it on an older invoice of ours, and some on one that is none of ours.
    const byHand = { id: anId(), invoiceId: rows[0]?.ledger_invoice_id ?? "", amount: "3.0000", date: "2026-04-11" };
    const elsewhere = { ...byHand, id: anId(), invoiceId: anId(), amount: "2.0000" };
    await settleDone(party, first, noteSeen("10", "approved", entry(first), byHand, elsewhere));
    expect(await ourDue(pool, party)).toEqual([
      { number: "INV-0001", status: "AUTHORISED", due: "47.00" },
      { number: "INV-0002", status: "PAID", due: "0.00" },
    ]);
    // The trigger wants total = left + applied: what is elsewhere counts as left.
    expect((await ourCredit(pool, party))[0]).toMatchObject({ remaining: "3.00" });
    await addInvoice(party, "2");
    await settleDone(party, await take(party), noteSeen("10", "approved", byHand));
    expect(await ourDue(pool, party)).toMatchObject([
      { due: "47.00" },
      { status: "AUTHORISED", due: "4.00" },
      { due: "2.00" },
    ]);
    expect((await ourCredit(pool, party))[0]).toMatchObject({ remaining: "7.00", allocations: [{ amount: "3.00" }] });
  });

  test("and fits no record is refused, and nothing of it is written", async () => {
    const party = await addParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    const first = await take(party);
    const absurd = { ...entry(first), amount: "5.0000" };
    await settleDone(party, first, noteSeen("10", "approved", absurd));
    expect(await planned(party)).toEqual(["refused 4.00 CN-0001 INV-0001"]);
    expect((await ourCredit(pool, party))[0]).toMatchObject({ remaining: "10.00", allocations: [] });
    expect(await ourDue(pool, party)).toMatchObject([{ due: "4.00" }]);
  });
});

describe.concurrent("a settled document", () => {
  test("has the ledger's total with tax, and all of its credit left", async () => {
    const party = await addParty();
    await raiseCredit(pool, party.organisationId, party.subscriptionId, "10");
    await settleOperations(pool, party.organisationId, await takenNotes(party, "11.5"));
    expect(await ourCredit(pool, party)).toMatchObject([{ status: "AUTHORISED", total: "11.50", remaining: "11.50" }]);
  });

  test("has the ledger's ids on its lines", async () => {
    const party = await addParty();
    await addInvoice(party, "4", { status: "draft" });
    const { rows } = await pool.query<{ is_named: boolean }>(
      "SELECT ledger_line_id = 'line of ' || id AS is_named FROM invoice_lines WHERE organisation_id = $1",
      [party.organisationId],
    );
    expect(rows).toEqual([{ is_named: true }]);
  });
});
