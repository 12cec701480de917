/** `billing documents`: a retry that waits for the ledger, and explanations for a person. */
import { describe, expect } from "vitest";
import { DocumentState } from "../../../../../src/gen/proto/billing/admin/v1/documents_pb.ts";
import { presentExplanation } from "../../../../../src/present/explanations.ts";
import { examples } from "../../../../../test/explanations/stored.ts";
import { run, cliTest as test } from "../../calls-fixture.ts";

const id = "0199a0b2-4444-7000-8000-000000000001";

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
