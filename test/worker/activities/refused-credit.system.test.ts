/** Credit notes that the ledger refuses, or that are refused without a call (POSTING-5). */
import { describe, expect } from "vitest";
import { refusalFault, spokenRefusals } from "../../faults/ledger-refusals.ts";
import { jobsOf, tables } from "../../support/rows.ts";
import { creditTest as test } from "./credit-fixture.ts";
import { bookedCredit, expectSameCredit, issueCredit, plannedCredit } from "./issue-credit.ts";

describe.concurrent("a credit note that the ledger refuses", () => {
  test("shows the ledger's message, and holds no credit", async ({ fixture }) => {
    const party = await fixture.party();
    await fixture.fault(party, {
      kind: "refuse",
      match: "PUT /api.xro/2.0/CreditNotes",
      messages: ["The lock date has passed."],
    });
    await fixture.issue(party, "-10", "10");
    const { rows } = await fixture.pool.query(
      `SELECT status, sync_error, ledger_credit_note_id FROM credit_notes
        WHERE organisation_id = $1`,
      [party.organisationId],
    );
    expect(rows).toEqual([
      {
        status: "not_in_external",
        sync_error: "The lock date has passed.",
        ledger_credit_note_id: null,
      },
    ]);
    expect(await plannedCredit(fixture.pool, party)).toEqual([]);
    expect(await bookedCredit(fixture.pool, party)).toEqual([]);
  });

  test("is refused if its number is on a foreign note, however alike", async ({ fixture }) => {
    const party = await fixture.party();
    await fixture.issue(party, "-10");
    // As if a person had created the same note under the next number.
    await fixture.pool.query(
      "UPDATE demo_ledger.credit_notes SET number = 'CN-0002' WHERE tenant_id = $1",
      [party.tenantId],
    );
    await fixture.issue(party, "-10");
    const second = { organisationId: party.organisationId, number: "CN-0002" };
    const syncError = "The number CN-0002 is taken by another credit note in the ledger.";
    expect(await tables(fixture.pool).creditNote.findMany({ where: second })).toMatchObject([
      { status: "not_in_external", syncError },
    ]);
  });

  test("is refused without a call if it has no account", async ({ fixture }) => {
    const party = await fixture.party();
    await issueCredit(fixture.pool, party.organisationId, party.subscriptionId, "10");
    await tables(fixture.pool).creditNoteLine.updateMany({
      where: { organisationId: party.organisationId },
      data: { revenueAccount: null },
    });
    await fixture.postAll(party);
    const { organisationId } = party;
    const message = "No revenue account is mapped for a line of this credit note.";
    expect(
      await jobsOf(fixture.pool, { organisationId, kind: "create_credit_note" }),
    ).toMatchObject([{ reason: "account_invalid", message }]);
  });
});

describe.concurrent("credit that the ledger refuses to put on an invoice", () => {
  test.for(spokenRefusals)("as $reason is put there later, or on the next one", async ({ says }, {
    fixture,
  }) => {
    const party = await fixture.party();
    await fixture.issue(party, "-10", "20");
    await fixture.fault(party, refusalFault(says, "/Allocations"));
    await fixture.allocate(party);
    await fixture.issue(party, "20");
    await fixture.allocate(party);
    const { notes } = await expectSameCredit(fixture.pool, party);
    const invoice = says === 404 ? "INV-0001" : "INV-0002";
    expect(notes).toMatchObject([
      { remaining: "0.00", allocations: [{ invoice, amount: "12.00" }] },
    ]);
  });

  test("is put on the next one if that invoice has another currency there", async ({ fixture }) => {
    const party = await fixture.party();
    await fixture.issue(party, "-10", "20");
    const changed = `UPDATE demo_ledger.invoices SET currency = 'EUR' WHERE tenant_id = $1`;
    await fixture.pool.query(changed, [party.tenantId]);
    expect(await fixture.allocate(party)).toMatchObject({ outcome: "refused" });
    await fixture.issue(party, "20");
    await fixture.allocate(party);
    const { notes } = await expectSameCredit(fixture.pool, party);
    expect(notes).toMatchObject([{ remaining: "0.00", allocations: [{ invoice: "INV-0002" }] }]);
  });

  test("is put on the next one if the ledger has lost that invoice", async ({ fixture }) => {
    const party = await fixture.party();
    await fixture.issue(party, "-10", "20");
    const lost = "DELETE FROM demo_ledger.invoices WHERE tenant_id = $1";
    await fixture.pool.query(lost, [party.tenantId]);
    expect(await fixture.allocate(party)).toMatchObject({ outcome: "refused" });
    await fixture.issue(party, "20");
    await fixture.allocate(party);
    const put = { invoice: "INV-0002", amount: "12.00" };
    expect(await bookedCredit(fixture.pool, party)).toMatchObject([{ allocations: [put] }]);
  });
});
