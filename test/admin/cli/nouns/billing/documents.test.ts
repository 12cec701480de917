/** `billing documents retry`: waits for the ledger's decision. */
import { describe, expect } from "vitest";
import { DocumentState } from "../../../../../src/gen/proto/billing/admin/v1/documents_pb.ts";
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
