/** Create customer when the ledger has conflicting names and numbers. CUSTOMER-1, XERO-10. */
import { expect } from "vitest";
import { perFile } from "../support/file-fixture.ts";
import { reusedSystemTest } from "../support/fixtures.ts";

const test = reusedSystemTest
  .extend("organisation", perFile, async ({ system }) => system.organisation())
  .extend(
    "create",
    perFile,
    ({ system, organisation }) =>
      (body: object) =>
        system.ask("POST", "/v1/customers", { key: organisation.apiKey, body }),
  );

test("a code of a hundred characters is accepted and billed", async ({
  system,
  organisation,
  create,
}) => {
  const code = "c".repeat(100);
  const answer = await create({ code, name: "Long Code Ltd", email: "a@long.example" });
  expect(answer.status, answer.text).toBe(201);
  expect(answer.json.code).toBe(code);
  const body = { customer_code: code, plan_code: "team", units: 1 };
  const billed = await system.ask("POST", "/v1/subscriptions", {
    key: organisation.apiKey,
    idempotencyKey: "long",
    body,
  });
  expect(billed.json.invoice.ledger.sync_status, billed.text).toBe("synced");
});

test("a code of another contact in the ledger is refused as a fault of the code", async ({
  system,
  organisation,
  create,
}) => {
  await system.pool.query(
    `UPDATE demo_ledger.contacts SET contact_number = 'FOREIGN' WHERE tenant_id = $1
      AND contact_number = 'ACME'`,
    [organisation.tenantId],
  );
  const answer = await create({ code: "FOREIGN", name: "Somebody Else", email: "b@else.example" });
  expect(answer.status, answer.text).toBe(409);
  expect(answer.json.error).toMatchObject({ code: "customer_code_taken", param: "code" });
});

test("a name that the ledger refuses is a fault of the name and creates nothing", async ({
  create,
}) => {
  const answer = await create({ code: "ANGLE", name: "Rev <8>", email: "c@angle.example" });
  expect(answer.status, answer.text).toBe(422);
  expect(answer.json.error).toMatchObject({ code: "invalid_parameter", param: "name" });
  const again = await create({ code: "ANGLE", name: "Rev 8", email: "c@angle.example" });
  expect(again.status, again.text).toBe(201);
});
