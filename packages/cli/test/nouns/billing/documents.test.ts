/** `billing documents`: documents and retries as a person reads them, and explanations. */
import { describe, expect } from "vitest";
import {
  AttemptOutcome,
  DocumentJob,
  DocumentKind,
  DocumentState,
} from "../../../../../src/gen/proto/billing/admin/v1/documents_pb.ts";
import { DocumentStatus } from "../../../../../src/gen/proto/billing/v1/common_pb.ts";
import { presentExplanation } from "../../../../../src/present/explanations.ts";
import { examples } from "../../../../../test/explanations/stored.ts";
import { run, cliTest as test } from "../../calls-fixture.ts";

const id = "0199a0b2-4444-7000-8000-000000000001";

const refused = {
  ...{ id, kind: DocumentKind.INVOICE, number: "SUB-0002", state: DocumentState.FAILED },
  ...{ status: DocumentStatus.NOT_IN_EXTERNAL, job: DocumentJob.CREATION, currency: "NZD" },
  ...{ total: "25.0000", subtotal: "25.0000", message: "Account 999 is archived." },
  ...{ customer: "c", subscription: "s", created: "2026-11-28T00:41:07.123Z", attempts: 1 },
};
const taken = {
  ...{ ...refused, state: DocumentState.DRIFT, status: DocumentStatus.DRAFT, total: "28.7500" },
  ...{ ledgerSubtotal: "20.0000", ledgerDifferences: ["its currency is EUR"] },
};

test("a list says which amounts are without tax", async ({ server }) => {
  server.answer({ ListDocuments: () => ({ data: [refused, taken], hasMore: true }) });
  const { out } = await run("documents list", { env: server.env });
  expect(out.split("\n").map((line) => line.replace(id, "1").split(/ {2,}/))).toEqual([
    ["2 documents and more."],
    [""],
    ["id", "kind", "number", "job", "state", "amount", "attempts", "next attempt", "why"],
    ["1", "invoice", "SUB-0002", "creation", "failed", "NZD 25.00 without tax", "1"].concat(
      "Account 999 is archived",
    ),
    ["1", "invoice", "SUB-0002", "creation", "drift", "NZD 28.75 with tax", "1"].concat(
      "it is NZD 20.00, not NZD 25.00, without tax, its currency is EUR",
    ),
    [""],
  ]);
});

describe("documents get", () => {
  test("is a sentence, the document and its attempts", async ({ server }) => {
    const attempt = {
      ...{ at: refused.created, job: DocumentJob.CREATION, outcome: AttemptOutcome.REFUSED },
      ...{ httpStatus: 400, message: refused.message },
    };
    const lost = { ...attempt, outcome: AttemptOutcome.UNCERTAIN, httpStatus: undefined };
    server.answer({ GetDocument: () => ({ document: refused, attempts: [attempt, lost] }) });
    const call = (columns?: number) =>
      run(`documents get ${id}`, { env: server.env, ...(columns ? { columns } : {}) });
    const { out } = await call();
    expect(out.split("\n")).toEqual([
      "The ledger refused the creation of SUB-0002 over NZD 25.00 without tax: Account 999 is " +
        "archived. Nothing more happens until it is retried.",
      "",
      "kind          invoice",
      "status        not in the ledger",
      "job           creation",
      "next attempt  none",
      "created       2026-11-28 00:41:07 UTC",
      "customer      c",
      "subscription  s",
      `id            ${id}`,
      "",
      "The last attempts:",
      "",
      "at (UTC)             job       outcome    answer  why",
      "2026-11-28 00:41:07  creation  refused    400     Account 999 is archived.",
      "2026-11-28 00:41:07  creation  uncertain  none    Account 999 is archived.",
      "",
    ]);
    const narrow = (await call(72)).out.split("\n");
    expect(narrow.filter(({ length }) => length > 72)).toEqual([]);
    expect(narrow).toContain("2026-11-28 00:41:07  creation  refused    400     Account 999 is");
    expect((await call(60)).out).toContain("\noutcome   uncertain\nanswer    none\n");
  });

  test.for([
    ["The ledger refused the creation of SUB-0002 over NZD 25.00 without tax: ", refused],
    [
      "The creation of SUB-0002 over NZD 25.00 without tax waits for the ledger: Account 999 is " +
        "archived. It is tried next at 2026-11-28 00:41:07 UTC.",
      { ...refused, state: DocumentState.WAITING, nextAttemptAt: refused.created },
    ],
    [
      "SUB-0002 over NZD 28.75 with tax is a draft. None of its ledger jobs failed or waits.",
      { ...taken, state: DocumentState.SYNCED },
    ],
    [
      "SUB-0002 over NZD 28.75 with tax differs in the ledger: it is NZD 20.00, not NZD 25.00, " +
        "without tax, its currency is EUR.",
      taken,
    ],
  ] as const)("begins with the state of its job: %s", async ([begin, document], { server }) => {
    server.answer({ GetDocument: () => ({ document }) });
    const { out } = await run(`documents get ${id}`, { env: server.env });
    expect(out.startsWith(begin)).toBe(true);
    expect(out).toMatch(/\nAttempts: none\.\n$/);
  });
});

describe("documents preview-retry", () => {
  const preview = { document: refused, job: DocumentJob.CREATION };
  const sent = "The creation of SUB-0002 over NZD 25.00 without tax is";

  test("shows what is sent, with accounts", async ({ server }) => {
    const lines = [
      { name: "Team", amount: "20.0000", revenueAccount: "260", mappedAgain: true },
      { name: "Calls", amount: "5.0000", taxType: "OUTPUT2" },
    ];
    server.answer({ PreviewRetryDocument: () => ({ ...preview, lines, takesNextNumber: true }) });
    const { out } = await run(`documents preview-retry ${id}`, { env: server.env });
    expect(out.split("\n")).toEqual([
      `${sent} sent to the ledger under the next number, because another document has SUB-0002 ` +
        "there. Nothing is changed by this preview.",
      "",
      "Sent: the next number (invoice)                                              NZD",
      "  Team                                                                     20.00",
      "    account 260, tax type of the account, by the present mapping",
      "  Calls                                                                     5.00",
      "    no account, tax type OUTPUT2",
      "  without tax                                                              25.00",
      "",
    ]);
  });

  test("of a pending job says that nothing else happens", async ({ server }) => {
    server.answer({ PreviewRetryDocument: () => ({ ...preview, pending: true }) });
    expect((await run(`documents preview-retry ${id}`, { env: server.env })).out).toBe(
      `${sent} run at once; nothing else happens. Nothing is changed by this preview.\n`,
    );
  });
});

describe("documents retry", () => {
  test("exits with 1 after --wait if the ledger refused again", async ({ server }) => {
    for (const [state, exitCode] of [
      [DocumentState.SYNCED, 0],
      [DocumentState.FAILED, 1],
    ] as const) {
      let reads = 0;
      server.answer({
        RetryDocument: () => ({ document: { id, state: DocumentState.WAITING } }),
        GetDocument: () => ({
          document: { id, state: ++reads < 2 ? DocumentState.WAITING : state },
        }),
      });
      expect((await run(`documents retry ${id} --wait`, { env: server.env })).exitCode).toBe(
        exitCode,
      );
      expect(reads).toBe(2);
    }
    expect((await run(`documents retry ${id}`, { env: server.env })).exitCode).toBe(0);
    expect((await run(`documents retry ${id} --wait soon`, { env: server.env })).exitCode).toBe(2);
  });
});

describe("documents explain", () => {
  const { explanation } = examples.find(({ name }) => name === "usage-1-late") ?? {};

  test("tells a person how an amount came about", async ({ server }) => {
    if (explanation === undefined) throw new Error("there is no such example");
    const lines = [{ name: "API calls", period: { start: "2026-02-01", end: "2026-03-01" } }];
    server.answer({
      ExplainDocument: () => ({ explanation: presentExplanation(explanation) }),
      GetInvoice: () => ({ invoice: { lines } }),
    });
    const { exitCode, out } = await run("explain INV-0042", { env: server.env });
    expect(exitCode).toBe(0);
    expect(out.split("\n")).toEqual([
      "Invoice INV-0042: 8.01 EUR",
      "1. 8.01 EUR: API calls, usage of 200 in 7 events, 2026-02-01 to 2026-03-01",
      "   on bill 3, after 900 on earlier bills",
      "   1100 in all: 1000 × 0.02 + 100 × 0.01 + 5 = 26",
      "   899.5 billed before: 899.5 × 0.02 = 17.99",
      "   26 − 17.99 = 8.01, rounded to 8.01",
      "",
    ]);
    const json = await run("documents explain INV-0042 -o json", { env: server.env });
    expect(JSON.parse(json.out)).toEqual(explanation);
  });

  test("says why a document has no explanation", async ({ server }) => {
    const head = { format: "explanation/1", object: "invoice", id, number: "INV-0001" } as const;
    const before = { ...head, available: false, reason: "issued_before" } as const;
    server.answer({ ExplainDocument: () => ({ explanation: presentExplanation(before) }) });
    expect((await run("documents explain INV-0001", { env: server.env })).out).toBe(
      "INV-0001 has no explanation: it was issued before documents had explanations.\n",
    );
  });
});
