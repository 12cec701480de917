/**
 * The mirror on a real database and the demo ledger over HTTP: whatever a person does there by hand is so here, found by a webhook's hint
 * or by the sweep, within the budget of calls.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMirror, type MirrorActivities } from "../../src/activities/mirror.ts";
import { createMirroring } from "../../src/store/mirroring.ts";
import { noteHints } from "../../src/store/note-hints.ts";
import { type Bookkeeper, bookkeeper } from "../support/bookkeeper.ts";
import { until } from "../support/system.ts";
import { type CreditParty, type CreditWorld, startCreditWorld } from "./credit-world.ts";
import { bookedCredit, ourCredit } from "./raise-credit.ts";

let world: CreditWorld;
let mirror: MirrorActivities;
const woken: string[] = [];
const credited: string[] = [];

beforeAll(async () => {
  world = await startCreditWorld();
  mirror = createMirror({
    mirroring: createMirroring(world.pool, world.sealing, 60_000),
    openLedger: world.openLedger,
    callDeadlineMs: 1_500,
    startMirror: async (organisationId) => woken.push(organisationId) > 0,
    startAllocation: async ({ subscriptionId }) => credited.push(subscriptionId) > 0,
  });
});
afterAll(() => world?.stop());

/** An organisation whose first sweep, which found nothing changed, is over; and a person at its books. */
async function partyWith(
  ...amounts: readonly string[]
): Promise<{ readonly party: CreditParty; readonly hand: Bookkeeper }> {
  const party = await world.party();
  await world.raise(party, ...amounts);
  await sweep(party);
  return { party, hand: bookkeeper(world.pool, world.demoUrl, party.tenantId) };
}

/** Has everything read again, in as many rounds as that takes. */
async function sweep({ organisationId }: CreditParty): Promise<void> {
  await world.pool.query(
    `UPDATE ledger_connections SET created_at = now() - interval '1 hour' WHERE organisation_id = '${organisationId}';
     UPDATE ledger_sweeps SET next_sweep_at = now(), not_before = NULL WHERE organisation_id = '${organisationId}'`,
  );
  await rest({ organisationId });
}

/** Rounds until nothing is left to be looked at. */
async function rest({ organisationId }: Pick<CreditParty, "organisationId">): Promise<void> {
  await until("nothing is left to be looked at", async () => {
    const round = await mirror.mirrorRound({ organisationId });
    expect(round.detail).toMatch(/^looked at \d+ in the ledger, \d+ changed here/);
    return round.state === "settled";
  });
}

/** The organisation's invoices: `status due`. */
async function invoices({ organisationId }: CreditParty): Promise<readonly string[]> {
  const { rows } = await world.pool.query<{ told: string }>(
    `SELECT concat_ws(' ', number, status, round(amount_due, 2)) AS told FROM invoices WHERE organisation_id = $1 ORDER BY number`,
    [organisationId],
  );
  return rows.map(({ told }) => told);
}

async function acme({ organisationId }: CreditParty): Promise<object | undefined> {
  const { rows } = await world.pool.query(
    "SELECT name, email, status, ledger_contact_id AS contact FROM customers WHERE organisation_id = $1 AND code = 'ACME'",
    [organisationId],
  );
  return rows[0];
}

describe.concurrent("what a person does in the ledger", () => {
  test("is found by the sweep: payments, voids, and credit put on an invoice and taken away again", async () => {
    const { party, hand } = await partyWith("10", "20", "30", "-40");
    expect(await invoices(party)).toEqual([
      "INV-0001 approved 12.00",
      "INV-0002 approved 24.00",
      "INV-0003 approved 36.00",
    ]);
    await hand.pay("INV-0001");
    await hand.setStatus("INV-0002", "VOIDED");
    await hand.allocate("CN-0001", "INV-0003", "16");
    await sweep(party);
    expect(await invoices(party)).toEqual(["INV-0001 paid 0.00", "INV-0002 voided 0.00", "INV-0003 approved 20.00"]);
    expect(await ourCredit(world.pool, party)).toEqual(await bookedCredit(world.pool, party));
    await hand.takeBack("CN-0001");
    await sweep(party);
    expect(await invoices(party)).toContain("INV-0003 approved 36.00");
    await hand.setStatus("CN-0001", "VOIDED");
    await sweep(party);
    expect(await ourCredit(world.pool, party)).toMatchObject([
      { number: "CN-0001", remaining: "0.00", allocations: [] },
    ]);
    // What stays as it was is read again for a while and changes nothing.
    const { rows } = await world.pool.query(
      "SELECT invoices_changed + credit_notes_changed AS changed FROM ledger_sweeps WHERE organisation_id = $1",
      [party.organisationId],
    );
    expect(rows).toEqual([{ changed: 1 }]);
  });

  test("approving a draft puts held credit on it; deleting one is seen, and so is one that is gone altogether", async () => {
    const party = await world.party();
    await world.raise(party, "-40");
    await world.pool.query("UPDATE organisations SET first_invoice_status = 'draft' WHERE id = $1", [
      party.organisationId,
    ]);
    await world.raise(party, "10", "20", "30");
    await sweep(party);
    const hand = bookkeeper(world.pool, world.demoUrl, party.tenantId);
    await hand.setStatus("INV-0001", "AUTHORISED");
    await hand.setStatus("INV-0002", "DELETED");
    await sweep(party);
    expect(credited).toContain(party.subscriptionId);
    await world.allocate(party);
    expect(await invoices(party)).toEqual(["INV-0001 paid 0.00", "INV-0002 deleted 0.00", "INV-0003 draft 36.00"]);
    expect(await ourCredit(world.pool, party)).toEqual(await bookedCredit(world.pool, party));

    const text =
      "DELETE FROM demo_ledger.invoices WHERE tenant_id = $1 AND number = 'INV-0003' RETURNING invoice_id AS id";
    const { rows } = await world.pool.query<{ id: string }>(text, [party.tenantId]);
    const hint = { tenantId: party.tenantId, kind: "invoices", ledgerId: rows[0]?.id ?? "", changedAt: null } as const;
    // For others' tenants, and for others' documents in ours, nobody is woken.
    const others = [
      { ...hint, tenantId: crypto.randomUUID() },
      { ...hint, ledgerId: crypto.randomUUID() },
    ];
    expect(await noteHints(world.pool, others)).toEqual([]);
    expect(await noteHints(world.pool, [...others, hint])).toEqual([party.organisationId]);
    await rest(party);
    expect(await invoices(party)).toContain("INV-0003 not_in_external 36.00");
  });

  test("to contacts: renamed, archived, restored and merged, their customers follow", async () => {
    const { party, hand } = await partyWith();
    await hand.changeContact("ACME", { Name: "Acme Holdings", EmailAddress: "pay@holdings.example" });
    await sweep(party);
    expect(await acme(party)).toMatchObject({ name: "Acme Holdings", email: "pay@holdings.example", status: "active" });
    await hand.changeContact("ACME", { ContactStatus: "ARCHIVED" });
    await sweep(party);
    expect(await acme(party)).toMatchObject({ status: "inactive" });
    await hand.changeContact("ACME", { ContactStatus: "ACTIVE" });
    await sweep(party);
    expect(await acme(party)).toMatchObject({ status: "active" });
    // A contact that is not imported stays no customer, until one of ours is merged into it.
    const contact = await hand.addContact("NEW", "New Holdings");
    await sweep(party);
    expect(await acme(party)).toMatchObject({ name: "Acme Holdings" });
    await hand.mergeContact("ACME", "NEW");
    await sweep(party);
    expect(await acme(party)).toEqual({ name: "New Holdings", email: "new@example.com", status: "active", contact });
    const { rows } = await world.pool.query("SELECT 1 FROM customers WHERE organisation_id = $1", [
      party.organisationId,
    ]);
    expect(rows).toHaveLength(3);
  });
});

test("a ledger that cannot be asked is asked again later, and a limit of calls is waited for", async () => {
  const { party, hand } = await partyWith("10");
  const { organisationId } = party;
  await hand.pay("INV-0001");
  const due = () =>
    world.pool.query("UPDATE ledger_sweeps SET next_sweep_at = now() WHERE organisation_id = $1", [organisationId]);
  const clear = () =>
    world.pool.query("UPDATE ledger_sweeps SET not_before = NULL WHERE organisation_id = $1", [organisationId]);
  await due();
  await world.fault(party, { match: "GET /api.xro/2.0/Contacts", kind: "status", status: 503 });
  expect(await mirror.mirrorRound({ organisationId })).toMatchObject({
    state: "waiting",
    detail: "waits: the ledger answered 503",
    nextInMs: 1_000,
  });
  expect(await mirror.mirrorRound({ organisationId })).toMatchObject({ state: "waiting" });
  await clear();
  await world.fault(party, {
    match: "GET /api.xro/2.0/Contacts",
    kind: "rate_limit",
    problem: "day",
    retryAfterSeconds: 7_200,
  });
  expect(await mirror.mirrorRound({ organisationId })).toMatchObject({
    detail: "paused: day limit",
    nextInMs: 7_200_000,
  });
  expect(await mirror.startMirrors({ after: null })).toMatchObject({ next: null });
  expect(woken).not.toContain(organisationId);
  await world.pool.query("UPDATE ledger_connections SET paused_until = NULL WHERE organisation_id = $1", [
    organisationId,
  ]);
  await mirror.startMirrors({ after: null });
  expect(woken).toContain(organisationId);
  await rest(party);
  expect(await invoices(party)).toEqual(["INV-0001 paid 0.00"]);
});
