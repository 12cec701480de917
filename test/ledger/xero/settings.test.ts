/** What an operator maps by, read from answers that make no sense: without a server. */
import { expect, test } from "vitest";
import { beginCall } from "../../../src/ledger/port/call.ts";
import type { ExactObject } from "../../../src/ledger/port/exact-json.ts";
import { listMappingOptions } from "../../../src/ledger/xero/settings.ts";
import type { XeroWire } from "../../../src/ledger/xero/wire/wire.ts";

const call = beginCall({ deadlineMs: 60_000, jobKeys: [] });

/** The way to a ledger that answers this. */
function wireOf(value: ExactObject): XeroWire {
  const refuse = (): never => {
    throw new Error("only read, and never closed");
  };
  return { ask: async () => ({ kind: "ok", value }), send: refuse, close: refuse };
}

test("an answer without the requested list is invalid, an empty list is not", async () => {
  for (const answer of [{}, { Accounts: null }, { Accounts: {} }]) {
    expect(await listMappingOptions(wireOf(answer), call, "accounts")).toMatchObject({
      kind: "unavailable",
      outcome: "not_sent",
    });
  }
  expect(await listMappingOptions(wireOf({ Accounts: [] }), call, "accounts")).toEqual({
    kind: "ok",
    value: [],
  });
});
