/**
 * The tables of the page: documents with their lines and allocations, payments, contacts, each with
 * its changes by hand.
 */
import { amountCell, button, cell, detail, element, table } from "./elements.js";

/**
 * Sends a change by hand. The path is relative to the row's /demo/tenants/{id}/.
 * @typedef {(path: string, body?: object) => void} Act
 */

const open = ["DRAFT", "SUBMITTED"];
const removable = [...open, "AUTHORISED"];

/**
 * Creates the table of invoices. An approved invoice can be paid, in full or in part.
 * @param {readonly object[]} invoices
 * @param {(row: object) => Act} actOn
 */
export function invoiceTable(invoices, actOn) {
  const heads = [
    "Number",
    "Contact",
    "Status",
    "Dates",
    "Total",
    "Paid",
    "Credited",
    "Due",
    "By hand",
  ];
  const rows = invoices.map((row) => {
    const act = actOn(row);
    const path = `invoices/${row.id}`;
    return element(
      "tr",
      { "data-id": row.id },
      cell(row.number, detail(row.reference), lines(row)),
      cell(row.contact, detail(row.organisation)),
      cell(row.status),
      cell(row.issue_date, detail(row.due_date === null ? "not due" : `due ${row.due_date}`)),
      amountCell(`${row.total} ${row.currency}`),
      amountCell(row.paid),
      amountCell(row.credited),
      amountCell(row.due),
      actions(
        ...documentActions(row, path, act),
        row.status === "AUTHORISED"
          ? payForm((amount) => act(`${path}/payments`, amount ? { amount } : {}))
          : null,
      ),
    );
  });
  return table("Invoices", heads, rows);
}

/**
 * Creates the table of credit notes with the invoices of their allocations. An allocation can be
 * removed.
 * @param {readonly object[]} notes
 * @param {(row: object) => Act} actOn
 */
export function creditNoteTable(notes, actOn) {
  const heads = ["Number", "Contact", "Status", "Date", "Total", "Left", "On invoices", "By hand"];
  const rows = notes.map((row) => {
    const act = actOn(row);
    const path = `credit-notes/${row.id}`;
    const allocations = row.allocations.map((one) =>
      element(
        "div",
        {},
        `${one.amount} on ${one.invoice}, ${one.date} `,
        button("Take back", () => act(`${path}/allocations/${one.id}/remove`)),
      ),
    );
    return element(
      "tr",
      { "data-id": row.id },
      cell(row.number, detail(row.reference), lines(row)),
      cell(row.contact, detail(row.organisation)),
      cell(row.status),
      cell(row.issue_date),
      amountCell(`${row.total} ${row.currency}`),
      amountCell(row.remaining),
      cell(...allocations),
      actions(...documentActions(row, path, act)),
    );
  });
  return table("Credit notes", heads, rows);
}

/**
 * Creates the table of payments. A payment can be deleted, which opens its invoice again.
 * @param {readonly object[]} payments
 * @param {(row: object) => Act} actOn
 */
export function paymentTable(payments, actOn) {
  const rows = payments.map((row) => {
    const act = actOn(row);
    return element(
      "tr",
      { "data-id": row.id },
      cell(row.invoice, detail(row.organisation)),
      cell(row.date),
      cell(row.status),
      amountCell(`${row.amount} ${row.currency}`),
      actions(
        row.status === "AUTHORISED"
          ? button("Delete", () => act(`payments/${row.id}/remove`))
          : null,
      ),
    );
  });
  return table("Payments", ["Invoice", "Date", "Status", "Amount", "By hand"], rows);
}

/**
 * Creates the table of contacts. An archived contact takes no new document.
 * @param {readonly object[]} contacts
 * @param {(row: object) => Act} actOn
 */
export function contactTable(contacts, actOn) {
  const rows = contacts.map((row) => {
    const act = actOn(row);
    const canRestore = row.status === "ARCHIVED" && row.merged_to === null;
    return element(
      "tr",
      { "data-id": row.id },
      cell(row.name, detail(row.organisation)),
      cell(row.number ?? ""),
      cell(row.email ?? ""),
      cell(row.status, row.merged_to === null ? null : detail("merged into another")),
      actions(
        row.status === "ACTIVE" ? button("Archive", () => act(`contacts/${row.id}/archive`)) : null,
        canRestore ? button("Restore", () => act(`contacts/${row.id}/restore`)) : null,
      ),
    );
  });
  return table("Contacts", ["Name", "Number", "E-mail", "Status", "By hand"], rows);
}

function documentActions(row, path, act) {
  const removal = open.includes(row.status) ? "Delete" : "Void";
  return [
    open.includes(row.status) ? button("Approve", () => act(`${path}/approve`)) : null,
    removable.includes(row.status) ? button(removal, () => act(`${path}/remove`)) : null,
  ];
}

function payForm(pay) {
  const amount = element("input", {
    "aria-label": "Amount",
    placeholder: "all of it",
    inputmode: "decimal",
  });
  return element(
    "span",
    {},
    " ",
    amount,
    " ",
    button("Pay", () => pay(amount.value.trim())),
  );
}

function lines(row) {
  const all = row.lines.map((line) =>
    element(
      "li",
      {},
      `${line.description}: ${line.quantity} × ${line.unit_amount} = ${line.amount}, ` +
        `tax ${line.tax}`,
    ),
  );
  const count = `${all.length} ${all.length === 1 ? "line" : "lines"}`;
  return element(
    "details",
    { class: "detail" },
    element("summary", {}, count),
    element("ul", {}, ...all),
  );
}

function actions(...children) {
  return element("td", { class: "actions" }, ...children);
}
