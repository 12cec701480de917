/**
 * An organisation whose requests all wait leaves permits and database connections to others, over
 * each protocol, and the metrics show how many wait. A lock of the test holds its work, so no clock
 * decides the order.
 */
import { randomUUID } from "node:crypto";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect } from "vitest";
import { OrganisationService } from "../../../src/gen/proto/billing/v1/organisation_pb.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { permitLimits } from "../../../src/transport/rpc/permits.ts";
import { reusedSystemTest as test } from "../../support/fixtures.ts";
import { until } from "../../support/system.ts";

/** The default of DATABASE_POOL_SIZE. */
const { mostOfOrganisation } = permitLimits(10);

/** A number of the metrics of the admin port. */
async function metric(adminUrl: string, series: string): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length));
}

const waiting = "billing_calls_waiting";
const waitedSeconds = 'billing_call_permit_wait_seconds_sum{outcome="ok"}';

test("an organisation's requests that wait hold up no other organisation's", async ({ system }) => {
  const [busy, other] = [await system.organisation(), await system.organisation()];
  const creation = { customer_code: "ACME", plan_code: "team", units: 10 };
  const { json } = await system.ask("POST", "/v1/subscriptions", {
    key: busy.apiKey,
    idempotencyKey: randomUUID(),
    body: creation,
  });
  const { id } = json;
  const units = { key: busy.apiKey, body: { units: 10 } };
  /** Refused once the subscription is locked. */
  const change = (path: string, body: object) =>
    system.ask("POST", path, { ...units, body, idempotencyKey: randomUUID() });
  const { adminUrl } = system;
  const waitedBefore = await metric(adminUrl, waitedSeconds);
  let answered = 0;
  const statuses = await inTransaction(system.pool, async (client) => {
    await client.query("SELECT 1 FROM subscriptions WHERE id = $1 FOR UPDATE", [id]);
    const requests = Array.from({ length: 10 }, () => [
      change(`/v1/subscriptions/${id}/units`, { units: 10 }),
      change("/billing.v1.SubscriptionService/ChangeUnits", { id, units: 10 }),
    ])
      .flat()
      .map((answer) =>
        answer.then(({ status }) => {
          answered += 1;
          return status;
        }),
      );
    await until("the organisation has its most at work", async () => {
      // Not by `client`: a transaction sees the activity as of its first read.
      const { rows } = await system.pool.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return (rows[0]?.count ?? 0) >= mostOfOrganisation;
    });
    const own = { key: other.apiKey };
    const rest = await system.ask("GET", "/v1/organisation", own);
    const connect = await system.ask("POST", "/billing.v1.OrganisationService/GetOrganisation", {
      ...own,
      body: {},
    });
    expect([rest.status, connect.status]).toEqual([200, 200]);
    const grpc = createClient(
      OrganisationService,
      createGrpcTransport({ baseUrl: system.baseUrl }),
    );
    const headers = { Authorization: `Bearer ${other.apiKey}` };
    const { organisation } = await grpc.getOrganisation({}, { headers });
    expect(organisation?.name).toBe(rest.json.name);
    // The probes need no permit.
    expect((await system.ask("GET", "/healthz")).status).toBe(200);
    expect(answered).toBe(0);
    await until("the other requests wait for a permit", async () => {
      return (await metric(adminUrl, waiting)) === requests.length - mostOfOrganisation;
    });
    return requests;
  });
  expect(new Set(await Promise.all(statuses))).toEqual(new Set([400, 422]));
  expect(await metric(adminUrl, waiting)).toBe(0);
  expect(await metric(adminUrl, waitedSeconds)).toBeGreaterThan(waitedBefore);
});
