/** The faults of the page: added by a form, shown while they are pending, cleared. */
import { button, cell, element, table } from "./elements.js";

const kinds = {
  refuse: {
    text: "it refuses (400)",
    order: { kind: "refuse", messages: ["Refused by order of the page."] },
  },
  minute: {
    text: "too many calls (429, wait 5 s)",
    order: { kind: "rate_limit", retryAfterSeconds: 5 },
  },
  unavailable: { text: "it is down (503)", order: { kind: "status", status: 503 } },
  hang: { text: "it never answers", order: { kind: "hang" } },
  drop_before: { text: "the request is lost, nothing is done", order: { kind: "drop_before" } },
  drop_after: { text: "it is done, the answer is lost", order: { kind: "drop_after" } },
  slow_before: {
    text: "it waits 15 s, then does it",
    order: { kind: "slow_before", delayMs: 15_000 },
  },
  slow_after: {
    text: "it does it, then waits 15 s",
    order: { kind: "slow_after", delayMs: 15_000 },
  },
};

// Text that is matched in `METHOD path?query` of a call.
const matches = {
  "PUT /api.xro/2.0/Invoices": "a new invoice",
  "POST /api.xro/2.0/Invoices/": "a change or removal of an invoice",
  "PUT /api.xro/2.0/CreditNotes?": "a new credit note",
  "POST /api.xro/2.0/CreditNotes/": "a change or removal of a credit note",
  "/Allocations": "credit put on an invoice or taken back",
  "PUT /api.xro/2.0/Contacts": "a new contact",
  "GET /api.xro/2.0/": "reading",
  "/api.xro/2.0/": "anything",
  "POST /connect/token": "signing in",
};

/**
 * Fills the form's lists. `order` is called with the new fault.
 * @param {HTMLFormElement} form
 * @param {(fault: object) => void} order
 */
export function prepareFaultForm(form, order) {
  const kind = form.elements.namedItem("kind");
  const match = form.elements.namedItem("match");
  kind.append(
    ...Object.entries(kinds).map(([value, { text }]) => element("option", { value }, text)),
  );
  match.append(
    ...Object.entries(matches).map(([value, text]) => element("option", { value }, text)),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    order({
      ...kinds[kind.value].order,
      match: match.value,
      times: form.elements.namedItem("times").value,
    });
  });
}

/**
 * Creates the table of pending faults. Null shows that faults are switched off.
 * @param {readonly object[] | null} faults
 * @param {() => void} clear
 */
export function faultTable(faults, clear) {
  if (faults === null)
    return element("p", {}, "Switched off: start the demo ledger with DEMO_LEDGER_FAULTS=1.");
  if (faults.length === 0) return element("p", { class: "detail" }, "None ordered.");
  const rows = faults.map((fault) =>
    element(
      "tr",
      {},
      cell(textOfKind(fault)),
      cell(matches[fault.match] ?? fault.match),
      cell(String(fault.left)),
    ),
  );
  return element(
    "div",
    {},
    table("Faults", ["What goes wrong", "With which calls", "Still"], rows),
    button("Clear all", clear),
  );
}

function textOfKind(fault) {
  const known = Object.values(kinds).find(
    ({ order }) => order.kind === fault.kind && (order.status ?? fault.status) === fault.status,
  );
  return known?.text ?? `${fault.kind} ${fault.kind === "status" ? fault.status : ""}`;
}
