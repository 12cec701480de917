/** The main job, over HTTP and on real parts: a subscription becomes an invoice in the ledger. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSystem, type TestSystem } from "../support/system.ts";

let system: TestSystem;

beforeAll(async () => {
  system = await startSystem();
});

afterAll(() => system?.stop());

test("a subscription created over REST becomes an invoice in the ledger", async () => {
  const { apiKey, tenantId } = await system.organisation();
  const body = { customer_code: "ACME", plan_code: "team", units: 10 };
  const answer = await system.ask("POST", "/v1/subscriptions", { key: apiKey, idempotencyKey: "one", body });
  expect(answer.status, answer.text).toBe(201);
  expect(answer.json.invoice).toMatchObject({ status: "draft", ledger: { sync_status: "synced", sync_error: null } });
  expect(await system.ledgerInvoices(tenantId)).toEqual([{ number: answer.json.invoice.number, status: "DRAFT" }]);
});
