/**
 * A bookkeeper's changes in the ledger's screens, for the demo page and for tests: approve, remove,
 * return credit, delete a payment, archive a contact. The rules and texts are the same as over
 * Xero's API.
 */
import type pg from "pg";
import { objectOf, objectsOf, readExactJson, textOf } from "../../../src/ledger/port/exact-json.ts";
import { removeAllocation } from "./api/allocations.ts";
import {
  type DemoAnswer,
  jsonAnswer,
  listAnswer,
  notFoundAnswer,
  validationAnswer,
  validationErrors,
} from "./api/answers.ts";
import type { ApiRequest } from "./api/api-request.ts";
import { isUuid } from "./api/contact-rows.ts";
import { updateContact } from "./api/contacts.ts";
import { creditNotes } from "./api/credit-notes.ts";
import { invoices } from "./api/invoices.ts";
import { inTransaction, type Queryable } from "./database.ts";
import { type DocumentRow, isOpen } from "./documents/document-rows.ts";
import type { DocumentValues } from "./documents/document-rules.ts";
import { loadDocument } from "./documents/document-store.ts";
import { type DocumentResource, updateDocument } from "./documents/documents.ts";
import { deletePayment } from "./documents/payments.ts";
import type { DemoTenant } from "./tenants.ts";

/** Changes a document of an organisation by its id, in one transaction. */
type Act = (
  request: (change: object) => ApiRequest,
  client: Queryable,
  id: string,
) => Promise<DemoAnswer>;

const acts: Readonly<Record<string, Act>> = {
  "invoices approve": approve(invoices),
  "invoices remove": remove(invoices),
  "invoices send": send,
  "credit-notes approve": approve(creditNotes),
  "credit-notes remove": remove(creditNotes),
  "payments remove": removePayment,
  "contacts archive": (request, client, id) =>
    updateContact(request({ ContactStatus: "ARCHIVED" }), client, id),
  "contacts restore": (request, client, id) =>
    updateContact(request({ ContactStatus: "ACTIVE" }), client, id),
};

/**
 * Answers the routes below with the new status, or null for other paths. `path` is the part after
 * the organisation. A change against Xero's rules answers 400 with Xero's texts. A removal voids an
 * approved document and deletes an open one.
 * - `POST /demo/tenants/{id}/{invoices|credit-notes}/{id}/{approve|remove}`
 * - `…/invoices/{id}/send`
 * - `…/contacts/{id}/{archive|restore}`
 * - `…/payments/{id}/remove`
 * - `…/credit-notes/{id}/allocations/{id}/remove`
 */
export async function answerByHand(
  pool: pg.Pool,
  tenant: DemoTenant,
  path: readonly string[],
): Promise<DemoAnswer | null> {
  const [resource = "", id = "", action = "", partId = "", partAction] = path;
  const isAllocation =
    resource === "credit-notes" && action === "allocations" && partAction === "remove";
  const act = isAllocation && path.length === 5 ? takeBack(partId) : acts[`${resource} ${action}`];
  if (!act || !isUuid(id) || (!isAllocation && path.length !== 3)) return null;
  const request = (change: object): ApiRequest => ({
    pool,
    tenant,
    method: "POST",
    segments: [],
    query: new URLSearchParams(),
    modifiedSince: "",
    text: JSON.stringify(change),
    highVolume: Number.POSITIVE_INFINITY,
    refusalOf: () => [],
  });
  return plainAnswer(await inTransaction(pool, (client) => act(request, client, id)));
}

function approve<Row extends DocumentRow, Values extends DocumentValues>(
  resource: DocumentResource<Row, Values>,
): Act {
  return (request, client, id) =>
    updateDocument(resource, request({ Status: "AUTHORISED" }), client, id);
}

function remove<Row extends DocumentRow, Values extends DocumentValues>(
  resource: DocumentResource<Row, Values>,
): Act {
  return async (request, client, id) => {
    const { tenantId } = request({}).tenant;
    const row = await loadDocument<Row>(client, resource.table, tenantId, id, "for update");
    const Status = row && isOpen(row.status) ? "DELETED" : "VOIDED";
    return updateDocument(resource, request({ Status }), client, id);
  };
}

async function removePayment(
  request: (change: object) => ApiRequest,
  client: Queryable,
  id: string,
): Promise<DemoAnswer> {
  switch (await deletePayment(client, request({}).tenant.tenantId, id)) {
    case "deleted":
      return listAnswer("Payments", [{ Status: "DELETED" }]);
    case "not_found":
      return notFoundAnswer();
    case "deleted_before": {
      const messages = ["Payment not of valid status for modification"];
      return validationAnswer([{ ValidationErrors: validationErrors(messages) }]);
    }
  }
}

/**
 * E-mails an approved invoice to its contact. If money is on the invoice, neither its time of
 * change nor a webhook shows it.
 */
async function send(
  request: (change: object) => ApiRequest,
  client: Queryable,
  id: string,
): Promise<DemoAnswer> {
  const { tenantId } = request({}).tenant;
  const { rowCount } = await client.query(
    `update demo_ledger.invoices set sent = true, updated_at = case
      when amount_paid + amount_credited = 0
        then date_trunc('milliseconds', clock_timestamp()) else updated_at end
      where tenant_id = $1 and invoice_id = $2 and status in ('AUTHORISED', 'PAID')`,
    [tenantId, id],
  );
  if (rowCount === 0) return notFoundAnswer();
  return listAnswer("Invoices", [{ Status: "SENT" }]);
}

function takeBack(allocationId: string): Act {
  return (request, client, id) => removeAllocation(request({}), client, id, allocationId);
}

// Converts Xero's envelope to the plain form of the routes below /demo.
function plainAnswer(answer: DemoAnswer): DemoAnswer {
  if (answer.status === 404)
    return jsonAnswer(404, { error: "There is no such document or contact." });
  const body = objectOf(readExactJson(answer.body)) ?? {};
  const [element = {}] = ["Elements", "Invoices", "CreditNotes", "Contacts", "Payments"].flatMap(
    (member) => objectsOf(body[member]),
  );
  if (answer.status !== 200) {
    const messages = objectsOf(element.ValidationErrors).map(
      ({ Message }) => textOf(Message) ?? "",
    );
    return jsonAnswer(answer.status, {
      error: messages.join(" ") || (textOf(body.Message) ?? "Refused."),
    });
  }
  return jsonAnswer(200, {
    status: textOf(element.Status) ?? textOf(element.ContactStatus) ?? "REMOVED",
  });
}
