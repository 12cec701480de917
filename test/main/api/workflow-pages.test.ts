/** The addresses of workflows in the Temporal UI, and of documents in a ledger. ADMIN-27 */
import { expect, test } from "vitest";
import { ledgers } from "../../../src/ledger/index.ts";
import { findLedgerKind } from "../../../src/ledger/port/ledger-kind.ts";
import { createWorkflowPages } from "../../../src/main/api/workflow-pages.ts";

const queryOf = (url: string | undefined) => new URL(url ?? "").searchParams.get("query");

test("without the address of the Temporal UI there are no links", () => {
  expect(createWorkflowPages(null, "default")).toBeNull();
});

test("a link finds the runs of a workflow that were open at an instant", () => {
  const pages = createWorkflowPages("https://temporal.example.com", "billing/live");
  const at = new Date("2026-03-01T12:00:00Z");
  const url = pages?.ofWork({ kind: "posting", organisationId: "o" }, at);
  expect(url).toMatch(/^https:\/\/temporal\.example\.com\/namespaces\/billing%2Flive\/workflows\?/);
  expect(queryOf(url)).toBe(
    'WorkflowId = "ledger/o" AND StartTime <= "2026-03-01T12:00:00.000Z"' +
      ' AND (CloseTime >= "2026-03-01T12:00:00.000Z" OR ExecutionStatus = "Running")',
  );
  expect(queryOf(pages?.ofSubscription("s"))).toBe('SubscriptionId = "s"');
});

test("a link finds what failed and what waits, of all organisations or of one", () => {
  const pages = createWorkflowPages("https://temporal.example.com", "default");
  const failed =
    '(ExecutionStatus IN ("Failed", "TimedOut") OR Outcome IN ("failed", "parked", "refused"))';
  expect(queryOf(pages?.failed(null))).toBe(failed);
  expect(queryOf(pages?.failed("o"))).toBe(`OrganisationId = "o" AND ${failed}`);
  const waiting = '(ExecutionStatus = "Running" OR Outcome = "rescheduled")';
  expect(queryOf(pages?.waiting("o"))).toBe(`OrganisationId = "o" AND ${waiting}`);
});

test.each([
  [{ kind: "amendment", jobId: "x" }, "amendment/x"],
  [{ kind: "allocation", subscriptionId: "x" }, "credit/x"],
  [{ kind: "termination", terminationId: "x" }, "end/x"],
  [{ kind: "publication", organisationId: "x" }, "events/x"],
  [{ kind: "delivery", endpointId: "x" }, "webhooks/x"],
] as const)("the work %j has the workflow %s", (work, id) => {
  const pages = createWorkflowPages("https://temporal.example.com", "default");
  expect(queryOf(pages?.ofWork(work, null))).toBe(`WorkflowId = "${id}"`);
});

test("a document has its page in the ledger that it is in", () => {
  const kind = findLedgerKind(ledgers, "xero");
  const fallback = kind?.form.base_url?.fallback ?? "";
  const page = (baseUrl: string, of: "invoice" | "credit_note") =>
    kind?.documentPage?.({ tenantId: "t", baseUrl }, { kind: of, ledgerId: "a b" });
  expect(page(fallback, "invoice")).toMatch(/^https:\/\/[^/]+\/.*[?&]InvoiceID=a%20b$/);
  expect(page(fallback, "credit_note")).toMatch(/[?&]creditNoteID=a%20b$/);
  expect(page("http://127.0.0.1:8090/api", "invoice")).toBe("http://127.0.0.1:8090/#a%20b");
  expect(page("nowhere", "invoice")).toBeNull();
});
