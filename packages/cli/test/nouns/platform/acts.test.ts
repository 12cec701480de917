/** What a person reads after an act on a subscription, and of a document and a subscription. */
import { expect } from "vitest";
import { refuse, run, cliTest as test } from "../../calls-fixture.ts";

const id = "0199a0b2-6666-7000-8000-000000000001";
const invoice = {
  ...{ id: "0199a0b2-4444-7000-8000-000000000005", number: "INV-0005", type: 2, status: 1 },
  ...{ currency: "NZD", subtotal: "125.0000", total: "150.0000", amountDue: "150.0000" },
  ...{ issueDate: "2026-03-01", dueDate: "2026-03-15", ledger: { invoiceId: "l" } },
  lines: [{ name: "Team", description: "10 × 12.5000", amount: "125.0000" }],
};
const more = { name: "Team", description: "10 to 20 seats", amount: "1234567.5000" };
const amended = {
  ...{ ...invoice, subtotal: "1234692.5000", total: "1481631.0000", amountDue: "1481631.0000" },
  lines: [...invoice.lines, more],
};
const subscription = {
  ...{ id, customerCode: "ACME", status: 2, currency: "NZD", units: 20, renewalDate: "2026-04-01" },
  ...{ renewalValue: "250.0000", interval: { unit: "month", count: 1 }, plan: "p" },
};
const plan = { name: "Team", code: "team", unitLabels: { singular: "seat", plural: "seats" } };
const upcomingInvoice = {
  ...{ currency: "NZD", renewalDate: "2026-04-01", subtotal: "250.0000", explanations: [{}] },
  period: { start: "2026-04-01", end: "2026-05-01" },
};

test("an act says by how much it amended an invoice, and what the renewal bills", async ({
  server,
}) => {
  let isDone = false;
  server.answer({
    ChangeUnits: () => {
      isDone = true;
      return { subscription };
    },
    ListInvoices: () => ({ data: [isDone ? amended : invoice] }),
    GetPlan: () => ({ plan }),
    GetUpcomingInvoice: () => ({ upcomingInvoice }),
  });
  const { out } = await run(`subscriptions units ${id} 20 --reason More`, { env: server.env });
  expect(out.split("\n")).toEqual([
    "INV-0005 is amended by NZD 1,234,567.50; the next renewal, on 2026-04-01, bills NZD 250.00 " +
      "(without tax). ACME has 20 seats of Team for NZD 250.00 a month without tax. It renews on " +
      "2026-04-01.",
    "",
    "Amended: INV-0005 (renewal), draft                                           NZD",
    "  Team                                                                    125.00",
    "    10 × 12.5000",
    "  Team                                                              1,234,567.50",
    "    10 to 20 seats",
    "  without tax                                                       1,234,692.50",
    "  tax                                                                 246,938.50",
    "  with tax                                                          1,481,631.00",
    "  still to be paid                                                  1,481,631.00",
    "",
    `subscription ${id}`,
    "",
  ]);
});

test("an end says which invoices are removed, and that nothing renews", async ({ server }) => {
  let isDone = false;
  server.answer({
    EndSubscription: () => {
      isDone = true;
      return { subscription: { ...subscription, status: 4, endDate: "2026-03-16" } };
    },
    ListInvoices: () => ({ data: [isDone ? { ...invoice, status: 6 } : invoice] }),
    GetUpcomingInvoice: () => refuse("invalid_state", "It is over."),
  });
  const { out } = await run(`subscriptions end ${id} now --reason Gone`, { env: server.env });
  expect(out.split("\n")[0]).toBe(
    "INV-0005 over NZD 125.00 is removed (without tax); nothing renews after that. ACME had 20 " +
      "units. The subscription ended on 2026-03-16.",
  );
});

test("a JSON answer needs no further call", async ({ server }) => {
  server.answer({ ChangeUnits: () => ({ subscription }) });
  await run(`subscriptions units ${id} 20 --reason More -o json`, { env: server.env });
  expect(server.received.map(({ method }) => method)).toEqual(["ChangeUnits"]);
});

test.for([
  [{}, "INV-0005 over NZD 150.00 with tax is a draft, due by 2026-03-15: nothing of it is paid."],
  [
    { status: 3, amountDue: "50.0000" },
    "INV-0005 over NZD 150.00 with tax is approved, due by 2026-03-15: NZD 50.00 is unpaid.",
  ],
  [{ status: 4 }, "INV-0005 over NZD 150.00 with tax is paid: nothing is due."],
  [
    { status: 8, ledger: { syncError: "The period is locked." } },
    "INV-0005 over NZD 125.00 without tax is not in the ledger: The period is locked.",
  ],
] as const)("an invoice %j is in a sentence: %s", async ([change, sentence], { server }) => {
  server.answer({ GetInvoice: () => ({ invoice: { ...invoice, ...change } }) });
  const { out } = await run(`invoices get ${invoice.id}`, { env: server.env });
  expect(out.split("\n")[0]).toBe(sentence);
});

test("an invoice shows the ledger's own number and its page there", async ({ server }) => {
  const there = { ledgerNumber: "I2026-1", ledgerUrl: "http://ledger.test/1" };
  server.answer({ GetInvoice: () => ({ invoice, ...there }) });
  const { out } = await run(`invoices get ${invoice.id}`, { env: server.env });
  expect(out).toMatch(/^in the ledger +I2026-1, http:\/\/ledger\.test\/1$/m);
});

test("a subscription is a sentence and its settings", async ({ server }) => {
  server.answer({ GetSubscription: () => ({ subscription }), GetPlan: () => ({ plan }) });
  const { out } = await run(`subscriptions get ${id}`, { env: server.env });
  expect(out.split("\n")[0]).toBe(
    "ACME has 20 seats of Team for NZD 250.00 a month without tax. It renews on 2026-04-01.",
  );
  expect(out).toMatch(/^label +none$/m);
});

test("a subscription says that its end or amendment waits for the ledger", async ({ server }) => {
  const answers = { GetSubscription: () => ({ subscription, waitsForLedger: true }) };
  server.answer({ ...answers, GetPlan: () => ({ plan }) });
  const { out } = await run(`subscriptions get ${id}`, { env: server.env });
  expect(out.split("\n").slice(1, 3)).toEqual([
    "Its end, or a change of an invoice, waits for the ledger. " +
      "`billing subscriptions preview-break-off` shows which, `break-off` breaks it off.",
    "",
  ]);
});

test("a subscription has the addresses in the Temporal UI that are set", async ({ server }) => {
  const [workflowsUrl, waitingWorkflowsUrl] = ["http://ui.test/of", "http://ui.test/waiting"];
  server.answer({ GetSubscription: () => ({ subscription, workflowsUrl, waitingWorkflowsUrl }) });
  const { out } = await run(`subscriptions get ${id}`, { env: server.env });
  expect(out).toContain(`\n\nWorkflows  ${workflowsUrl}\nWaiting    ${waitingWorkflowsUrl}\n\n`);
  server.answer({ GetSubscription: () => ({ subscription }) });
  expect((await run(`subscriptions get ${id}`, { env: server.env })).out).not.toMatch(/workflows/i);
});
