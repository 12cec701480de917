/**
 * Erases the personal data of a customer, for ever: in its row, in what was published of it, in
 * stored answers, in the audit log and in the ledger's messages. Documents stay. SQL where texts
 * are compared and replaced in the database. CUSTOMER-7
 */
import { Refusal } from "../../domain/refusal.ts";
import type { Customer } from "../../gen/prisma/client.ts";
import { lockOrganisation, lockRow, lockSubscriptions } from "../database/lock-order.ts";
import type { Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import { blockPublishing } from "../events/publish-changes.ts";
import { type Changed, changed } from "./changes.ts";

/** The replacements. The database function `erased_members` has the same ones. */
const erasedText = "erased";
const erasedEmail = "erased@erased.invalid";

/**
 * Erases the customer with this id. An erasure of an erased one changes nothing. Refuses
 * `invalid_state` while a subscription is running or a job is pending.
 */
export async function eraseCustomer(
  tx: Transaction,
  organisationId: string,
  id: string,
): Promise<Changed<null>> {
  // The relay would publish what it read before. The sync would write what it read before.
  await blockPublishing(tx, organisationId);
  await lockOrganisation(tx, organisationId);
  const subscriptions = await db(tx).subscription.findMany({
    where: { organisationId, customerId: id },
    select: { id: true, status: true },
  });
  const subscriptionIds = subscriptions.map((subscription) => subscription.id);
  await lockSubscriptions(tx, organisationId, subscriptionIds);
  await lockRow(tx, "customers", organisationId, id);
  const where = { organisationId, id, ledgerContactId: { not: null } };
  const before = await db(tx).customer.findFirst({ where });
  if (before === null || before.erasedAt !== null) return changed(null);
  if (subscriptions.some(({ status }) => status !== "ended" && status !== "complete"))
    throw new Refusal("invalid_state", "A subscription of the customer is running.");
  if (await isJobPending(tx, organisationId, id, subscriptionIds))
    throw new Refusal("invalid_state", "A ledger job of the customer is pending.");
  const erasedAt = new Date();
  await db(tx).customer.updateMany({ where, data: erasedColumns(before, erasedAt) });
  await erasePublished(tx, organisationId, id);
  await eraseAnswers(tx, organisationId, id);
  await eraseAuditLog(tx, organisationId, id);
  await eraseMessages(tx, organisationId, id, subscriptionIds);
  await deleteViews(tx, organisationId, before);
  return changed(null, {
    targetKind: "customer",
    targetId: id,
    organisationId,
    before: { status: before.status, erasedAt: null },
    after: { status: "inactive", erasedAt },
  });
}

/** An absent value stays absent: the documents of the law do not need it. */
function erasedColumns(before: Customer, erasedAt: Date) {
  const text = (value: string | null) => (value === null ? null : erasedText);
  return {
    name: erasedText,
    companyName: text(before.companyName),
    firstName: text(before.firstName),
    lastName: text(before.lastName),
    email: erasedEmail,
    status: "inactive",
    deactivatedAt: before.deactivatedAt ?? erasedAt,
    // A hash of few possible values can be guessed.
    requestHash: null,
    erasedAt,
  };
}

async function isJobPending(
  tx: Transaction,
  organisationId: string,
  id: string,
  subscriptionIds: readonly string[],
): Promise<boolean> {
  const job = await db(tx).ledgerJob.findFirst({
    where: {
      organisationId,
      state: { in: ["ready", "sending", "uncertain"] },
      OR: jobsOf(id, subscriptionIds),
    },
    select: { id: true },
  });
  return job !== null;
}

/** The ledger jobs of a customer: those of its contact and of its subscriptions. */
function jobsOf(id: string, subscriptionIds: readonly string[]) {
  return [{ customerId: id }, { subscriptionId: { in: [...subscriptionIds] } }];
}

/** Objects that may show the customer's data: itself, and its documents by a ledger's message. */
const shownObjects = sql`(object_kind = 'customer' AND object_id = $2
    OR object_kind = 'invoice' AND object_id IN (SELECT i.id FROM invoices i
      WHERE i.organisation_id = $1 AND i.customer_id = $2)
    OR object_kind = 'credit_note' AND object_id IN (SELECT n.id FROM credit_notes n
      WHERE n.organisation_id = $1 AND n.customer_id = $2))`;

const eraseSnapshots = command({
  name: "erase_published_snapshots",
  text: sql`
    UPDATE published_snapshots
    SET object = erased_members(object::jsonb)::text
    WHERE
      organisation_id = $1
      AND ${shownObjects}
      AND object::jsonb <> erased_members(object::jsonb)
  `,
});

const eraseReceivers = command({
  name: "erase_answers_of_receivers",
  text: sql`
    UPDATE webhook_attempts a
    SET answer = NULL
    FROM
      webhook_deliveries d
      JOIN events e ON e.organisation_id = d.organisation_id AND e.id = d.event_id
    WHERE
      a.organisation_id = $1
      AND d.organisation_id = $1
      AND a.delivery_id = d.id
      AND a.answer IS NOT NULL
      AND ${shownObjects}
  `,
});

const eraseEvents = command({
  name: "erase_events",
  text: sql`
    UPDATE events
    SET body = erased_members(body::jsonb)::text
    WHERE organisation_id = $1 AND ${shownObjects} AND body::jsonb <> erased_members(body::jsonb)
  `,
});

/**
 * Snapshots, events, and what receivers answered to these. Texts without personal data keep their
 * bytes. The relay writes the snapshots again, because the objects change too.
 */
async function erasePublished(tx: Transaction, organisationId: string, id: string): Promise<void> {
  await eraseSnapshots(tx, organisationId, id);
  await eraseReceivers(tx, organisationId, id);
  await eraseEvents(tx, organisationId, id);
}

/**
 * Deletes the stored answers that show the customer. A repeat of its creation finds the customer by
 * the id that the key leads to (IDEMPOTENCY-7). An operator's keys have no organisation.
 */
const eraseAnswers = command({
  name: "erase_idempotent_answers",
  text: sql`
    DELETE FROM idempotency_keys
    WHERE
      (organisation_id = $1 OR organisation_id IS NULL)
      AND state = 'done'
      AND position(convert_to($2, 'UTF8') IN response) > 0
      AND operation LIKE '%CustomerService%'
  `,
});

const eraseAuditLog = command({
  name: "erase_audit_log",
  text: sql`
    UPDATE audit_log
    SET
      before = erased_members(before),
      after = erased_members(after)
    WHERE
      organisation_id = $1
      AND (
        target_kind = 'customer'
        AND target_id = $2
        OR target_kind = 'document'
        AND target_id IN (
          SELECT i.id FROM invoices i WHERE i.organisation_id = $1 AND i.customer_id = $2
          UNION ALL
          SELECT n.id
          FROM credit_notes n
          WHERE n.organisation_id = $1 AND n.customer_id = $2
        )
      )
  `,
});

// SQL, because the typed client has no regular expressions.
const eraseReasons = command({
  name: "erase_reasons_of_jobs",
  text: sql`
    UPDATE ledger_jobs
    SET reason = $4
    WHERE
      organisation_id = $1
      AND reason ~ '[^a-z_]'
      AND (customer_id = $2 OR subscription_id = ANY ($3::uuid[]))
  `,
});

const eraseAttempts = command({
  name: "erase_messages_of_attempts",
  text: sql`
    UPDATE ledger_attempts
    SET message = $3
    WHERE
      organisation_id = $1
      AND message IS NOT NULL
      AND document_id IN (
        SELECT i.id FROM invoices i WHERE i.organisation_id = $1 AND i.customer_id = $2
        UNION ALL
        SELECT n.id FROM credit_notes n WHERE n.organisation_id = $1 AND n.customer_id = $2
      )
  `,
});

/** A ledger's or another text about the customer's documents may name it, and is replaced whole. */
async function eraseMessages(
  tx: Transaction,
  organisationId: string,
  id: string,
  subscriptionIds: readonly string[],
): Promise<void> {
  const refused = {
    where: { organisationId, customerId: id, syncError: { not: null } },
    data: { syncError: erasedText },
  };
  await db(tx).invoice.updateMany(refused);
  await db(tx).creditNote.updateMany(refused);
  const message = { not: null };
  const data = { message: erasedText };
  const OR = jobsOf(id, subscriptionIds);
  await db(tx).ledgerJob.updateMany({ where: { organisationId, message, OR }, data });
  await eraseReasons(tx, organisationId, id, subscriptionIds, erasedText);
  await eraseAttempts(tx, organisationId, id, erasedText);
  const termination = { subscriptionId: { in: [...subscriptionIds] } };
  await db(tx).removal.updateMany({ where: { organisationId, message, termination }, data });
}

/** The views of the console that filter by the customer's name or e-mail address. */
async function deleteViews(
  tx: Transaction,
  organisationId: string,
  { name, companyName, email }: Customer,
): Promise<void> {
  const texts = [name, companyName, email].filter((text) => text !== null);
  const OR = texts.map((text) => ({ search: { contains: encoded(text) } }));
  await db(tx).savedView.deleteMany({ where: { organisationId, OR } });
}

/** A text as it stands in an address. */
function encoded(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice("=".length);
}
