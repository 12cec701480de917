/** Reads and job outcomes of one invoice at the same time, in every order of their answers. */
import { expect } from "vitest";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { saveObservedInvoice } from "../../../src/store/documents/credit-note-state.ts";
import { dropNotifications } from "../../../src/store/ledger-sync/claim-notifications.ts";
import { saveNotifications } from "../../../src/store/ledger-sync/pending-notifications.ts";
import { databaseTest as test } from "../../support/fixtures.ts";
import { lockWaits, tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { addInvoice, ledgerIdOf } from "../ledger-jobs/credit-party.ts";
import {
  addConnectedParty,
  clockOf,
  describeDocument,
  ledgerTime,
  notificationsOf,
  observedInvoice,
  open,
} from "./sync-fixture.ts";

test("concurrent reads and outcomes never replace newer state with older state", async ({
  pool,
}) => {
  const party = await addConnectedParty(pool);
  await addInvoice(party, "100");
  const id = await ledgerIdOf(party, "INV-0001");
  const { organisationId } = party;
  await pool.query(
    `CREATE TABLE written (at bigserial, due numeric);
     CREATE FUNCTION note_written() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         IF NEW.amount_due <> OLD.amount_due THEN
           INSERT INTO written (due) VALUES (NEW.amount_due);
         END IF;
         RETURN NULL;
       END $$;
     CREATE TRIGGER note_written AFTER UPDATE ON invoices FOR EACH ROW
       WHEN (NEW.number = 'INV-0001') EXECUTE FUNCTION note_written()`,
  );
  // Each payment in the ledger reduces the amount due. Two payments may share an instant.
  let due = 100;
  const pay = () => {
    due -= 1;
  };
  const now = () =>
    observedInvoice(id, {
      amountDue: String(due),
      updatedAt: ledgerTime(Math.floor((100 - due) / 2)),
    });
  const invoiceId = (await tables(pool).invoice.findFirst({ where: { ledgerInvoiceId: id } }))?.id;
  const readAll = async () => {
    for (let read = 0; read < 25; read += 1) {
      const queriedAt = await clockOf(party);
      const observed = now();
      pay();
      // Other reads and writes happen before the answer.
      if (read % 3 === 0) await pool.query("SELECT pg_sleep(0.005)");
      await open(pool, party).syncInvoices([observed], queriedAt);
    }
  };
  // A job sends the invoice: reads leave it alone until the outcome is recorded.
  const recordAll = async () => {
    for (let job = 0; job < 15; job += 1) {
      await pool.query(
        `INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id,
            attempts, first_sent_at, lease_until)
          VALUES (gen_random_uuid(), $1, 'amend_invoice', 'sending', $2, $3, 1, now(),
            now() + interval '1 minute')`,
        [organisationId, party.subscriptionId, invoiceId],
      );
      pay();
      const observed = now();
      await pool.query("SELECT pg_sleep(0.003)");
      await inTransaction(pool, async (client) => {
        await saveObservedInvoice(client, organisationId, invoiceId ?? "", observed);
        await tables(client).ledgerJob.deleteMany({ where: { organisationId, state: "sending" } });
      });
    }
  };
  await Promise.all([readAll(), readAll(), readAll(), recordAll()]);
  await open(pool, party).syncInvoices([now()], await clockOf(party));
  expect(await describeDocument(party, "INV-0001")).toBe(`approved ${due}.00 of 100.00`);
  const { rows } = await pool.query<{ due: string }>("SELECT due FROM written ORDER BY at");
  const written = rows.map((row) => Number(row.due));
  expect(written.at(-1)).toBe(due);
  expect(written).toEqual(written.toSorted((one, other) => other - one));
});

test("a notification that a later webhook changes meanwhile is not dropped", async ({ pool }) => {
  const party = await addConnectedParty(pool);
  const { organisationId } = party;
  await addInvoice(party, "100");
  const id = await ledgerIdOf(party, "INV-0001");
  await open(pool, party).syncInvoices(
    [observedInvoice(id, { updatedAt: ledgerTime(7) })],
    await clockOf(party),
  );
  const notify = (on: Pick<typeof pool, "query">, minute: number) =>
    saveNotifications(on, organisationId, "invoices", [
      { ledgerId: id, changedAt: ledgerTime(minute) },
    ]);
  await notify(pool, 7);
  const dropped = await inTransaction(pool, async (tx) => {
    await notify(tx as Pick<typeof pool, "query">, 8);
    const dropping = dropNotifications(pool, organisationId, "invoices");
    await until("the drop waits", async () => (await lockWaits(pool)) > 0);
    return { dropping };
  });
  await dropped.dropping;
  expect(await notificationsOf(party)).toEqual([`invoices ${id}`]);
  await dropNotifications(pool, organisationId, "invoices");
  expect(await notificationsOf(party)).toEqual([`invoices ${id}`]);
});
