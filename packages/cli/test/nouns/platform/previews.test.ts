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

const team = { name: "Team", period: { start: "2026-04-01", end: "2026-05-01" } };
const upcomingInvoice = {
  renewalDate: "2026-04-01",
  issued: true,
  lines: [team, { name: "Calls", period: { start: "2026-03-01", end: "2026-04-01" } }],
  credits: [{ name: "Storage", effectiveDate: "2026-03-01T00:00:00.000Z" }],
  explanations: [explained("plan-1-tiered"), explained("usage-1"), explained("usage-1-credit")],
};

test("a preview shows each document that it issues, amends, removes and credits", async ({
  server,
}) => {
  server.answer({
    PreviewChangeUnits: () => ({
      preview: {
        issuedInvoices: [
          {
            ...{ type: 3, issueDate: "2026-03-17", lines: [team], overdue: true },
            explanation: explained("proration-1-charge"),
          },
        ],
        amendedInvoices: [
          {
            ...{ number: "INV-7", type: 2, lines: [team] },
            explanation: explained("plan-1-amended"),
          },
        ],
        removedInvoices: [{ number: "INV-8", type: 2 }],
        creditNotes: [
          {
            creditNoteDate: "2026-03-17T00:00:00.000Z",
            lines: [{ name: "Team" }],
            explanation: explained("proration-1-credit"),
          },
        ],
        deferredLines: [{ name: "Team", description: "10 to 12 seats" }],
        assumptions: [2],
      },
    }),
  });
  const { out } = await run(`subscriptions preview-units ${id} 12`, { env: server.env });
  expect(out.split("\n").filter((line) => !/^( |\d)/.test(line))).toEqual([
    "Issues an invoice (change), dated 2026-03-17, overdue: 60.48 EUR",
    "Amends invoice INV-7 (renewal): 89.04 EUR",
    "Removes invoice INV-8 (renewal)",
    "Credits, dated 2026-03-17: 5.81 NZD",
    "Defers to the renewal: Team, 10 to 12 seats",
    "Taken for granted: amendments accepted",
    "",
  ]);
  expect(out).toContain("   of the period 2026-03-01 to 2026-04-01, 15 of 31 days are left\n");
});

test("an upcoming invoice shows each document with the names of its own lines", async ({
  server,
}) => {
  server.answer({ GetUpcomingInvoice: () => ({ upcomingInvoice }) });
  const { out } = await run(`subscriptions upcoming ${id}`, { env: server.env });
  expect(out.split("\n").filter((line) => /^(The|\d)/.test(line))).toEqual([
    "The renewal on 2026-04-01 bills, issued ahead: 88.50 EUR",
    "1. 88.50 EUR: Team, a whole period of 14 units (1 free), 2026-04-01 to 2026-05-01",
    "The renewal on 2026-04-01 bills: 27.01 EUR",
    "1. 27.01 EUR: Calls, usage of 1200.5 in 12 events, 2026-03-01 to 2026-04-01",
    "The renewal on 2026-04-01 credits: 9.00 EUR",
    "1. 9.00 EUR: Storage, usage of 1 in 1 event, from 2026-03-01",
  ]);
});

test("a preview that does nothing, and a renewal without documents, say so", async ({ server }) => {
  server.answer({
    PreviewRestoreSubscription: () => ({
      preview: { upcomingInvoice: { renewalDate: "2026-04-01" } },
    }),
  });
  const { out } = await run(`subscriptions preview-restore ${id}`, { env: server.env });
  expect(out).toBe(
    "No document is issued, amended, removed or credited.\n" +
      "The renewal on 2026-04-01 issues no document.\n",
  );
});
