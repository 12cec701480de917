/**
 * Dear reads of operators have few connections, which the public API does not need. A lock of the
 * test makes each of them slow, so no clock decides the order.
 */
import { expect } from "vitest";
import { dearReads } from "../../../src/admin/dear-reads.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { ask } from "../../support/answer.ts";
import { perFile } from "../../support/file-fixture.ts";
import { systemTest } from "../../support/fixtures.ts";
import { lockWaits } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { codeOf } from "./request.ts";

const test = systemTest.extend("settings", perFile, { without: ["worker"] });

test("twenty dear reads of an operator hold up no public call, and two run at once", async ({
  system,
}) => {
  const [busy, other] = [await system.organisation(), await system.organisation()];
  const { json } = await system.ask("POST", "/v1/subscriptions", {
    key: busy.apiKey,
    idempotencyKey: "dear",
    body: { customer_code: "ACME", plan_code: "team", units: 10 },
  });
  const key = await system.operator("read-only");
  const { organisationId: organisation } = busy;
  const { id } = json;
  const bodies: Readonly<Record<string, object>> = {
    PreviewCreateSubscription: { organisation, customerCode: "ACME", planCode: "team", units: 1 },
    PreviewChangeUnits: { organisation, id, units: 12 },
    PreviewAdvanceTestClock: { organisation, days: 1 },
    PreviewEndSubscription: { organisation, id, when: "END_WHEN_NOW" },
    PreviewRestoreSubscription: { organisation, id },
    GetUpcomingInvoice: { organisation, id },
    ListSubscriptionTimeline: { organisation, id },
    ListLeftovers: { organisation },
    ListUsage: { organisation, subscription: id },
    ListUsageEvents: { organisation, subscription: id },
    CheckUsageSums: { organisation },
    ExportUsageEvents: { organisation, lastMonth: "2020-01" },
    ListAuditEntries: {},
  };
  const operations = [...dearReads];
  expect(operations.map((operation) => operation.split("/")[1]).sort()).toEqual(
    Object.keys(bodies).sort(),
  );
  let answered = 0;
  const dear = async (index: number) => {
    const operation = operations[index % operations.length] as string;
    const body = bodies[operation.split("/")[1] as string];
    const answer = await ask(`${system.adminUrl}/${operation}`, "POST", { key, body });
    answered += 1;
    return { operation, answer };
  };
  // Not by the connection of the lock: a transaction sees the activity as of its first read.
  const locked = () => lockWaits(system.pool);
  const admitted = await inTransaction(system.pool, async (client) => {
    await client.query("LOCK TABLE subscriptions, plans, audit_log IN ACCESS EXCLUSIVE MODE");
    const reads = Array.from({ length: 20 }, (_, index) => dear(index));
    await until("as many as may run wait for the lock", async () => (await locked()) >= 2);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => system.ask("GET", "/v1/customers", { key: other.apiKey })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    // Other calls of operators are not dear, and find a connection.
    const options = { key, body: { organisation } };
    expect((await system.askAdmin("CustomerService/ListCustomers", options)).status).toBe(200);
    await until("the others are refused", async () => answered === 18);
    expect(await locked()).toBe(2);
    return reads;
  });
  const answers = await Promise.all(admitted);
  const refused = answers.filter(({ answer }) => answer.status !== 200);
  expect(refused.map(({ operation, answer }) => `${operation} ${answer.status}`)).toHaveLength(18);
  for (const { answer } of refused) {
    expect([answer.json.code, codeOf(answer)]).toEqual(["unavailable", "temporarily_unavailable"]);
    expect(answer.json.message).toBe(
      "Two calls as large as this one are in progress; please retry",
    );
    expect(answer.headers.get("retry-after")).toBe("1");
  }
});
