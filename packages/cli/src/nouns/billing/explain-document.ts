/** `billing documents explain`: how the amounts of a document came about, for a person. */
import {
  describeExplanation,
  type LineHeading,
} from "../../../../../src/domain/explanation/for-person.ts";
import type {
  Explanation,
  Unavailable,
  UnavailableReason,
} from "../../../../../src/domain/explanation/shown.ts";
import { CreditNoteService } from "../../../../../src/gen/proto/billing/admin/v1/credit_notes_pb.ts";
import { DocumentService } from "../../../../../src/gen/proto/billing/admin/v1/documents_pb.ts";
import { InvoiceService } from "../../../../../src/gen/proto/billing/admin/v1/invoices_pb.ts";
import { callJson } from "../../call-json.ts";
import type { Work } from "../../noun.ts";
import type { Json } from "../../output/message-json.ts";

/** Returns the explanation as the public API answers it. */
export async function explainDocument({ connection, request }: Work): Promise<Json> {
  const { body } = await callJson(connection, DocumentService.method.explainDocument, request);
  return JSON.parse(String(body));
}

const reasons: Readonly<Record<UnavailableReason, string>> = {
  issued_before: "it was issued before documents had explanations",
  does_not_follow: "its facts give another amount, which is a defect of the service",
};

const reads = {
  invoice: InvoiceService.method.getInvoice,
  credit_note: CreditNoteService.method.getCreditNote,
};

/** Returns the lines of text for a person, with names and days of the document itself. */
export async function explanationLines(
  json: Json,
  { connection, request: { organisation = "" } }: Work,
): Promise<readonly string[]> {
  const explanation = json as unknown as Explanation | Unavailable;
  const { object, id, number } = explanation;
  if (!explanation.available)
    return [`${number} has no explanation: ${reasons[explanation.reason]}.`];
  const { lines } = await callJson(connection, reads[object], { organisation, id });
  return describeExplanation(explanation, lines as unknown as readonly LineHeading[]);
}
