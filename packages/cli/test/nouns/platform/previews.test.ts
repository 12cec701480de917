/** What a person reads of a preview and of an upcoming invoice: documents with their arithmetic. */
import { expect } from "vitest";
import { presentExplanation } from "../../../../../src/present/explanations.ts";
import { examples } from "../../../../../test/explanations/stored.ts";
import { run, cliTest as test } from "../../calls-fixture.ts";

const id = "0199a0b2-6666-7000-8000-000000000001";

const explained = (name: string) => {
  const found = examples.find((one) => one.name === name) ?? expect.fail(name);
  return presentExplanation({ ...found.explanation, number: null });
};

const period = { start: "2026-04-01", end: "2026-05-01" };
const team = { name: "Team", amount: "60.4800", period };
const upcomingInvoice = {
  currency: "EUR",
  renewalDate: "2026-04-01",
  period,
  issued: true,
  subtotal: "106.5100",
  lines: [
    { name: "Team", amount: "88.5000", period },
    { name: "Calls", amount: "27.0100", period: { start: "2026-03-01", end: "2026-04-01" } },
  ],
  credits: [{ name: "Storage", amount: "9.0000", effectiveDate: "2026-03-01T00:00:00.000Z" }],
  explanations: [explained("plan-1-tiered"), explained("usage-1"), explained("usage-1-credit")],
};

const preview = {
  subscription: {
    ...{ customerCode: "ACME", status: 2, currency: "EUR", units: 12, renewalValue: "150.0000" },
    ...{ renewalDate: "2026-04-01", interval: { unit: "month", count: 1 } },
  },
  issuedInvoices: [
    {
      ...{ type: 3, currency: "EUR", issueDate: "2026-03-17", dueDate: "2026-03-31" },
      ...{ lines: [team], subtotal: "60.4800", overdue: true },
      explanation: explained("proration-1-charge"),
    },
  ],
  amendedInvoices: [
    {
      ...{ invoice: id, number: "INV-7", type: 2, currency: "EUR", issueDate: "2026-03-01" },
      ...{ lines: [{ name: "Team", amount: "89.0400" }], subtotal: "89.0400" },
      explanation: explained("plan-1-amended"),
    },
  ],
  removedInvoices: [{ number: "INV-8", type: 2, subtotal: "12.0000", onlyIfUnsent: true }],
  creditNotes: [
    {
      ...{ currency: "EUR", creditNoteDate: "2026-03-17T00:00:00.000Z", subtotal: "5.8100" },
      lines: [{ name: "Team", amount: "5.8100" }],
      explanation: explained("proration-1-credit"),
    },
  ],
  deferredLines: [{ name: "Team", amount: "1234567.8900", description: "10 to 12 seats" }],
  upcomingInvoice,
  assumptions: [2, 3],
};

test("a preview says first in a sentence what it does", async ({ server }) => {
  server.answer({
    PreviewChangeUnits: () => ({ preview }),
    GetInvoice: () => ({ invoice: { subtotal: "80.0000" } }),
  });
  const { out } = await run(`subscriptions preview-units ${id} 12`, { env: server.env });
  const [sentence, , subscription] = out.split("\n");
  expect(sentence).toBe(
    "An invoice over EUR 60.48 is issued, INV-7 is amended by EUR 9.04, INV-8 over EUR 12.00 is " +
      "removed, EUR 5.81 is credited and EUR 1,234,567.89 waits for the renewal; the next " +
      "renewal, on 2026-04-01, bills EUR 106.51 (without tax), and its invoice is issued " +
      "already. Nothing is changed by this preview.",
  );
  expect(subscription).toBe(
    "ACME has 12 units for EUR 150.00 a month without tax. It renews on 2026-04-01.",
  );
});

test("a preview shows each document with its lines, their derivation and its sums", async ({
  server,
}) => {
  server.answer({
    PreviewChangeUnits: () => ({ preview }),
    GetInvoice: () => ({ invoice: { subtotal: "80.0000" } }),
  });
  const { out } = await run(`subscriptions preview-units ${id} 12`, { env: server.env });
  const lines = out.split("\n");
  expect(lines.filter((line) => /^[A-Z].* EUR$/.test(line))).toEqual([
    "Issued: an invoice (change), dated 2026-03-17, due 2026-03-31, of what is    EUR",
    "Amended: INV-7 (renewal), dated 2026-03-01                                   EUR",
    "Removed: INV-8 (renewal)                                                     EUR",
    "Credited: a credit note, dated 2026-03-17                                    EUR",
    "Waits for the renewal                                                        EUR",
    "Invoice of the renewal on 2026-04-01, issued already                         EUR",
    "Invoice of the renewal on 2026-04-01                                         EUR",
    "Credit note of the renewal on 2026-04-01                                     EUR",
  ]);
  for (const text of [
    "  Team                                                                     60.48",
    "    of the period 2026-03-01 to 2026-04-01, 15 of 31 days are left",
    "  without tax, as it is                                                    80.00",
    "  without tax                                                              89.04",
    "  without tax, unless the ledger has sent it by then                       12.00",
    "  Team                                                              1,234,567.89",
    "    10 to 12 seats",
  ])
    expect(lines).toContain(text);
  expect(out).toContain(
    "The ledger was not asked: this takes for granted that it still takes the amendments and " +
      "removes the invoices.\n",
  );
});

test("a preview ends with the events that the platform gets, and how many", async ({ server }) => {
  const events = [
    { type: "subscription.updated", count: 1 },
    { type: "invoice.created", count: 2 },
  ];
  server.answer({ PreviewRestoreSubscription: () => ({ preview: {}, events }) });
  const { out } = await run(`subscriptions preview-restore ${id}`, { env: server.env });
  expect(out).toMatch(/\nThe platform is told: subscription.updated and invoice.created × 2.\n$/);
});

test("an upcoming invoice shows each document with the names of its lines", async ({ server }) => {
  server.answer({ GetUpcomingInvoice: () => ({ upcomingInvoice }) });
  const { out } = await run(`subscriptions upcoming ${id}`, { env: server.env });
  expect(out.split("\n").filter((line) => /^(The| {2}[A-Z])/.test(line))).toEqual([
    "The next renewal, on 2026-04-01, bills EUR 106.51 (without tax), and its invoice is issued " +
      "already.",
    "  Team                                                                     88.50",
    "  Calls                                                                    27.01",
    "  Storage                                                                   9.00",
  ]);
  expect(out).toContain("    a whole period of 14 units (1 free), 2026-04-01 to 2026-05-01\n");
  expect(out).toContain("    usage of 1 in 1 event, from 2026-03-01\n");
});

test("a preview that does nothing, and a renewal without documents, say so", async ({ server }) => {
  server.answer({
    PreviewRestoreSubscription: () => ({
      preview: { upcomingInvoice: { renewalDate: "2026-04-01", period } },
    }),
  });
  const { out } = await run(`subscriptions preview-restore ${id}`, { env: server.env });
  expect(out).toBe(
    "No document is issued or changed; the next renewal, on 2026-04-01, bills nothing. Nothing " +
      "is changed by this preview.\n",
  );
});

test("a terminal of 60 columns gets no wider line", async ({ server }) => {
  server.answer({
    PreviewChangeUnits: () => ({ preview }),
    GetInvoice: () => ({ invoice: { subtotal: "80.0000" } }),
  });
  const words = `subscriptions preview-units ${id} 12`;
  const { out } = await run(words, { env: server.env, columns: 60 });
  expect(out.split("\n").filter(({ length }) => length > 60)).toEqual([]);
});

test("breaking off says what waits, what is recorded and what is issued", async ({ server }) => {
  const running = "invoice INV-7 is being amended in the ledger";
  const message = "An operator broke off the amendment, which waited for the ledger.";
  const documents = [{ kind: 1, type: 3, currency: "EUR", subtotal: "45.0000" }];
  server.answer({ PreviewBreakOff: () => ({ breakOff: { running, message, documents } }) });
  const words = `subscriptions preview-break-off ${id}`;
  const { out } = await run(words, { env: server.env });
  expect(out.split("\n")).toEqual([
    `What waits is broken off: ${running}; 1 document is issued. Nothing is changed by this ` +
      "preview.",
    "",
    `Recorded: ${message}`,
    "",
    "issued   for     currency  without tax",
    "invoice  change  EUR       45.00",
    "",
  ]);
  server.answer({ PreviewBreakOff: () => ({ breakOff: { running, message } }) });
  const none = await run(words, { env: server.env });
  expect(none.out).toContain(`${running}; no document is issued. Nothing is changed`);
});
