/** The columns that a person names, the lines of documents, and lists of any size as CSV. */
import { expect } from "vitest";
import { run, cliTest as test } from "../calls-fixture.ts";

const invoice = (number: number) => ({
  id: `id-${number}`,
  number: `INV-${number}`,
  currency: "NZD",
  issueDate: "2026-03-01",
  lines: [
    { name: "Team", amount: "125.0000", period: { start: "2026-03-01", end: "2026-04-01" } },
    { name: "Onboarding", amount: "250.0000" },
  ],
});

test("--columns shows columns of the list and members of its rows", async ({ server }) => {
  server.answer({ ListInvoices: () => ({ data: [invoice(1)] }) });
  const words = "invoices list --columns number,ledger.sync_status,subtotal";
  const table = await run(words, { env: server.env });
  expect(table.out.split("\n")[0]).toBe("number  ledger sync status  subtotal");
  const csv = await run(`${words} -o csv`, { env: server.env });
  expect(csv.out.split("\r\n")[0]).toBe("number,ledger sync status,subtotal");
});

test("--lines lists each line with its document and its dates", async ({ server }) => {
  server.answer({ ListInvoices: () => ({ data: [invoice(1)] }) });
  const { out } = await run(
    "invoices list --lines --issued-from 2026-03-01 -o csv " +
      "--columns number,issue_date,position,line.name,line.amount,line.period.end",
    { env: server.env },
  );
  expect(out.trim().split("\r\n")).toEqual([
    "number,issue date,position,line name,line amount,line period end",
    "INV-1,2026-03-01,1,Team,125.0000,2026-04-01",
    "INV-1,2026-03-01,2,Onboarding,250.0000,",
  ]);
  expect(server.received[0]?.request).toMatchObject({ issued_from: "2026-03-01" });
});

test("all pages are CSV with one head, each written before the next is read", async ({
  server,
}) => {
  server.answer({
    ListInvoices: (request) => {
      const { startingAfter: after = "id-0" } = request as { startingAfter?: string };
      const next = Number(after.slice(3)) + 1;
      return { data: [invoice(next)], hasMore: next < 4 };
    },
  });
  const { out, err } = await run("invoices list --all -o csv --columns number", {
    env: server.env,
  });
  expect(out).toBe("number\r\nINV-1\r\nINV-2\r\nINV-3\r\nINV-4\r\n");
  expect(err).toBe("");
});
