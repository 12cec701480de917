/** The demo ledger's page: reads its content every two seconds, and sends changes by hand. */
import { element } from "./elements.js";
import { faultTable, prepareFaultForm } from "./faults.js";
import { contactTable, creditNoteTable, invoiceTable, paymentTable } from "./tables.js";

const everyMs = 2_000;

const chosen = document.getElementById("organisation");
const notice = document.getElementById("notice");
let shown = "";
let turns = 0;
let shownTurn = 0;

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
  const told = text.startsWith("{") ? JSON.parse(text).error : undefined;
  throw new Error(told ?? `The demo ledger answered ${answer.status}.`);
}

function tell(text, isRefused) {
  notice.textContent = text;
  notice.classList.toggle("refused", isRefused);
}

/** Sends a change and shows its result. */
async function run(path, method, body) {
  try {
    await ask(path, method, body);
    tell("Done.", false);
  } catch (error) {
    tell(error.message, true);
  }
  await refresh(true);
}

function actOn(row) {
  return (path, body = {}) => void run(`tenants/${row.tenant_id}/${path}`, "POST", body);
}

function put(id, content) {
  document.getElementById(id).replaceChildren(content);
}

function show(books) {
  const { value } = chosen;
  const opened = new Set(
    [...document.querySelectorAll("tr:has(details[open])")].map(({ dataset }) => dataset.id),
  );
  const organisations = books.organisations.map(({ id, name }) =>
    element("option", { value: id }, name),
  );
  chosen.replaceChildren(element("option", { value: "" }, "all"), ...organisations);
  chosen.value = books.organisations.some(({ id }) => id === value) ? value : "";
  put("invoices", invoiceTable(books.invoices, actOn));
  put("credit-notes", creditNoteTable(books.credit_notes, actOn));
  put("payments", paymentTable(books.payments, actOn));
  put("contacts", contactTable(books.contacts, actOn));
  put(
    "faults",
    faultTable(books.faults, () => void run("faults", "DELETE")),
  );
  document.getElementById("order").hidden = books.faults === null;
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

async function refresh(isAsked) {
  turns += 1;
  const turn = turns;
  try {
    const text = await ask(chosen.value === "" ? "books" : `tenants/${chosen.value}/books`);
    // An earlier request may be answered later, with older content.
    if (turn < shownTurn || (isBusy() && !isAsked)) return;
    shownTurn = turn;
    if (text === shown) return;
    shown = text;
    show(JSON.parse(text));
  } catch (error) {
    tell(`The books cannot be read: ${error.message}`, true);
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
