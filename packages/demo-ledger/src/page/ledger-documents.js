/** The demo ledger's page: reads its content every two seconds, and sends changes by hand. */
import { element } from "./elements.js";
import { faultTable, prepareFaultForm } from "./faults.js";
import { contactTable, creditNoteTable, invoiceTable, paymentTable } from "./tables.js";

const everyMs = 2_000;

const chosen = document.getElementById("organisation");
const notice = document.getElementById("notice");
let shown = "";
let requests = 0;
let shownRequest = 0;

/** Sends one request to the demo ledger. Throws with its message if it refuses. */
async function ask(path, method = "GET", body = undefined) {
  const answer = await fetch(`/demo/${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (answer.ok) return text;
  const message = text.startsWith("{") ? JSON.parse(text).error : undefined;
  throw new Error(message ?? `The demo ledger answered ${answer.status}.`);
}

function report(text, isRefused) {
  notice.textContent = text;
  notice.classList.toggle("refused", isRefused);
}

/** Sends a change and shows its result. */
async function run(path, method, body) {
  try {
    await ask(path, method, body);
    report("Done.", false);
  } catch (error) {
    report(error.message, true);
  }
  await refresh(true);
}

function actOn(row) {
  return (path, body = {}) => void run(`tenants/${row.tenant_id}/${path}`, "POST", body);
}

function put(id, table) {
  document.getElementById(id).replaceChildren(table);
}

function show(content) {
  const { value } = chosen;
  const opened = new Set(
    [...document.querySelectorAll("tr:has(details[open])")].map(({ dataset }) => dataset.id),
  );
  const organisations = content.organisations.map(({ id, name }) =>
    element("option", { value: id }, name),
  );
  chosen.replaceChildren(element("option", { value: "" }, "all"), ...organisations);
  chosen.value = content.organisations.some(({ id }) => id === value) ? value : "";
  put("invoices", invoiceTable(content.invoices, actOn));
  put("credit-notes", creditNoteTable(content.credit_notes, actOn));
  put("payments", paymentTable(content.payments, actOn));
  put("contacts", contactTable(content.contacts, actOn));
  put(
    "faults",
    faultTable(content.faults, () => void run("faults", "DELETE")),
  );
  document.getElementById("order").hidden = content.faults === null;
  for (const row of document.querySelectorAll("tr:has(details)")) {
    row.querySelector("details").open = opened.has(row.dataset.id);
  }
}

/**
 * A refresh does not disturb a person who types an amount, unless that person has just sent a
 * change.
 */
function isBusy() {
  const focused = document.activeElement;
  return focused === chosen || focused?.closest("td input") != null;
}

async function refresh(isForced) {
  requests += 1;
  const request = requests;
  try {
    const text = await ask(chosen.value === "" ? "documents" : `tenants/${chosen.value}/documents`);
    // An earlier request may be answered later, with older content.
    if (request < shownRequest || (isBusy() && !isForced)) return;
    shownRequest = request;
    if (text === shown) return;
    shown = text;
    show(JSON.parse(text));
  } catch (error) {
    report(`The documents cannot be read: ${error.message}`, true);
  }
}

async function follow() {
  if (!document.hidden) await refresh(false);
  setTimeout(follow, everyMs);
}

chosen.addEventListener("change", () => {
  chosen.blur();
  void refresh(true);
});
prepareFaultForm(document.getElementById("order"), (fault) => void run("faults", "POST", fault));
await follow();
