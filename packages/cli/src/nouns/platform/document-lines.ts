/** What a person reads of an invoice and of a credit note. */
import { CustomerService } from "../../../../../src/gen/proto/billing/admin/v1/customers_pb.ts";
import { callJson } from "../../call-json.ts";
import type { Work } from "../../noun.ts";
import { layDocument, layText } from "../../output/document.ts";
import type { Json } from "../../output/message-json.ts";
import { objectTable } from "../../output/table.ts";
import { differenceOf, money, spaced } from "../../output/words.ts";
import { statedLine } from "./explained-document.ts";
import type { ShownCreditNote, ShownInvoice } from "./shown.ts";

/** Returns the lines of an invoice. */
export async function invoiceLines(json: Json, work: Work): Promise<readonly string[]> {
  const invoice = json as unknown as ShownInvoice;
  const { number, type, issue_date: issued, due_date: due, period, sent } = invoice;
  const days = period && `${period.start} to ${period.end}`;
  return [
    ...layText(work.terminal, `${invoiceText(invoice)}.`),
    "",
    ...(await head(work, invoice, {
      dated: due === undefined ? issued : `${issued}, due ${due}`,
      ...(days === undefined ? {} : { period: days }),
      sent: sent ? "to the customer, by the ledger" : "no",
    })),
    "",
    ...invoiceTable(work, invoice, `Invoice ${number} (${type})`),
    "",
    `\`billing explain ${number}\` shows each step of its amounts.`,
  ];
}

/** Returns an invoice with its lines and sums. `by`: by how much an act changed it. */
export function invoiceTable(
  { terminal }: Pick<Work, "terminal">,
  invoice: ShownInvoice,
  title: string,
): readonly string[] {
  const { currency, lines, subtotal, total, amount_due: due } = invoice;
  const taxed = hasTax(invoice)
    ? ([
        ["tax", differenceOf(total, subtotal)],
        ["with tax", total],
        ["still to be paid", due],
      ] as const)
    : ([["tax", "of the ledger"]] as const);
  return layDocument(terminal, {
    title,
    currency,
    lines: lines.map(statedLine),
    sums: [["without tax", subtotal], ...taxed],
  });
}

/** What the ledger said, without the full stop of a sentence. */
const whyNot = (error = "the ledger refused it") => error.replace(/\.$/, "");

/** The ledger's total is known once the invoice is there. */
const hasTax = ({ ledger }: ShownInvoice) => ledger?.invoice_id !== undefined;

/** Returns `INV-0005 over NZD 215.63 with tax is approved, and all of it is to be paid`. */
function invoiceText(invoice: ShownInvoice): string {
  const { number, currency, subtotal, total, amount_due: due, status, ledger } = invoice;
  const over = hasTax(invoice)
    ? `${number} over ${money(currency, total)} with tax`
    : `${number} over ${money(currency, subtotal)} without tax`;
  const by = invoice.due_date === undefined ? "" : ` by ${invoice.due_date}`;
  switch (status) {
    case "scheduled":
      return `${over} waits for the ledger`;
    case "not_in_external":
      return `${over} is not in the ledger: ${whyNot(ledger?.sync_error)}`;
    case "draft":
    case "awaiting_approval":
    case "approved": {
      const paid = due === total ? "nothing of it is paid" : `${money(currency, due)} is unpaid`;
      return `${over} is ${status === "draft" ? "a draft" : spaced(status)}, due${by}: ${paid}`;
    }
    default:
      return `${over} is ${spaced(status)}: nothing is due`;
  }
}

/** Returns the lines of a credit note. */
export async function creditNoteLines(json: Json, work: Work): Promise<readonly string[]> {
  const note = json as unknown as ShownCreditNote;
  const { number, currency, lines, subtotal, total, remaining_credit: left, allocations } = note;
  const isThere = note.ledger?.credit_note_id !== undefined;
  const over = isThere
    ? `${money(currency, total)} with tax`
    : `${money(currency, subtotal)} without tax`;
  return [
    ...layText(work.terminal, `${number} credits ${over}: ${creditState(note)}.`),
    "",
    ...(await head(work, note, { dated: note.credit_note_date.slice(0, 10) })),
    "",
    ...layDocument(work.terminal, {
      title: `Credit note ${number}`,
      currency,
      lines: lines.map(statedLine),
      sums: [
        ["without tax", subtotal],
        ...(isThere
          ? ([
              ["tax", differenceOf(total, subtotal)],
              ["with tax", total],
            ] as const)
          : ([["tax", "of the ledger"]] as const)),
        ...allocations
          .filter(({ status }) => status === "active")
          .map(({ invoice, amount }) => [`applied to the invoice ${invoice}`, amount] as const),
        ["not applied yet", left],
      ],
    }),
    "",
    `\`billing explain ${number}\` shows each step of its amounts.`,
  ];
}

function creditState(note: ShownCreditNote): string {
  const { status, allocation_status: allocation, currency, remaining_credit: left, ledger } = note;
  if (status === "scheduled") return "it waits for the ledger";
  if (status === "not_in_external") return `it is not in the ledger: ${whyNot(ledger?.sync_error)}`;
  if (allocation === "not_applicable") return `it is ${spaced(status)}`;
  if (allocation === "applied") return "all of it is applied";
  return `${money(currency, left)} of it is not applied to an invoice yet`;
}

async function head(
  { connection, request: { organisation = "" } }: Work,
  document: ShownInvoice | ShownCreditNote,
  more: Json,
): Promise<readonly string[]> {
  const { id, customer, subscription, status, reference, ledger_number, ledger_url } = document;
  const there = [ledger_number, ledger_url].filter((one) => one !== undefined);
  const { code, name } = await callJson(connection, CustomerService.method.getCustomer, {
    organisation,
    id: customer,
  });
  const text = objectTable({
    customer: name === undefined ? customer : `${String(name)} (${String(code)})`,
    status: spaced(status),
    ...more,
    ...(reference === undefined ? {} : { reference }),
    subscription,
    id,
    ...(there.length === 0 ? {} : { "in the ledger": there.join(", ") }),
  });
  return text.trimEnd().split("\n");
}
