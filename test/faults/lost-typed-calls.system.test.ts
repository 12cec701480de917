/**
 * The server ends the connection of a request while it waits within a call of the database: a typed
 * one, whose library wraps the error, or a statement. A write is repeated and done once, everything
 * else answers 502, and nothing answers 500. REQUEST-14.
 */
import { randomUUID } from "node:crypto";
import pg from "pg";
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { scenarioTest } from "../scenario/fixtures.ts";
import { addMeter, usageEvent } from "../scenario/usage-builder.ts";
import { type Answered, ask } from "../support/answer.ts";
import { perFile } from "../support/file-fixture.ts";
import { until } from "../support/until.ts";

const test = scenarioTest
  .extend("sandbox", perFile, async ({ system, builder }) => {
    const changes = { usage_allowed: true, can_create_ledger_contacts: true };
    const sandbox = await builder.sandbox(changes);
    await addMeter(system.pool, sandbox.organisationId);
    return sandbox;
  })
  /**
   * Sends a request while another session holds a table, ends the connection on which a call with
   * such a text waits for it, a typed one by default, and returns the answer.
   */
  .extend(
    "losing",
    perFile,
    ({ system }) =>
      async (
        table: string,
        send: () => Promise<Answered>,
        mode = "ACCESS EXCLUSIVE",
        // Only Prisma names the schema.
        text = `%"public"."${table}"%`,
      ): Promise<Answered> => {
        const holder = new pg.Client({ connectionString: system.databaseUrl });
        await holder.connect();
        await holder.query(`BEGIN; LOCK TABLE ${table} IN ${mode} MODE`);
        try {
          const answer = send();
          const pid = await until(`a call waits for ${table}`, async () => {
            const { rows } = await system.pool.query<{ pid: number }>(
              `SELECT pid FROM pg_stat_activity WHERE application_name ~ '^(api|admin)'
                AND datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`,
              [text],
            );
            return rows[0]?.pid ?? false;
          });
          await system.pool.query("SELECT pg_terminate_backend($1)", [pid]);
          await holder.query("COMMIT");
          return await answer;
        } finally {
          await holder.end();
        }
      },
  );

const april = { start_date: "2026-04-01" };

/**
 * Requests that write, by the table that one of their typed calls reads or writes. Another
 * statement reads the changes of units before the typed call writes them.
 */
const writes = [
  ["a change of units", "unit_changes", "SHARE", "units", { units: 12 }],
  ["an end", "terminations", "ACCESS EXCLUSIVE", "end", { when: "period_end" }],
  ["a restoration", "restorations", "ACCESS EXCLUSIVE", "restore", {}],
] as const;

async function countOf(pool: pg.Pool, table: string, own: CreatedOrganisation): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::int FROM ${table} WHERE organisation_id = $1`,
    [own.organisationId],
  );
  return rows[0]?.count ?? 0;
}

test.for(writes)("%s is done once if the server ends its connection", async ([
  ,
  table,
  mode,
  operation,
  body,
], { system, builder, sandbox, losing }) => {
  const { id } = await builder.subscribe(sandbox, april);
  if (operation === "restore") await builder.ended(sandbox, id, { when: "now" });
  const before = await countOf(system.pool, table, sandbox);
  const path = `${system.baseUrl}/v1/subscriptions/${id}/${operation}`;
  const options = { key: sandbox.apiKey, body, idempotencyKey: randomUUID() };
  const answer = await losing(table, () => ask(path, "POST", options), mode);
  expect(answer.status, answer.text).toBe(200);
  expect((await countOf(system.pool, table, sandbox)) - before).toBe(1);
});

test("a report of usage is stored once if the server ends its connection", async ({
  system,
  builder,
  sandbox,
  losing,
}) => {
  const { id } = await builder.subscribe(sandbox, april);
  const body = { events: [usageEvent(id, "2026-04-01T08:00:00Z")] };
  const path = `${system.baseUrl}/v1/usage_events`;
  const send = () => ask(path, "POST", { key: sandbox.apiKey, body });
  const answer = await losing("meters", send, "ACCESS EXCLUSIVE", "%FROM meters%");
  expect(answer.status, answer.text).toBe(200);
  expect(await countOf(system.pool, "usage_events", sandbox)).toBe(1);
});

test("an operator's calls are unavailable if the server ends their connection", async ({
  system,
  sandbox,
  losing,
}) => {
  const key = await system.operator();
  const organisation = sandbox.organisationId;
  const url = `${system.adminUrl}/billing.admin.v1.`;
  for (const [table, method, body, message] of [
    ["webhook_endpoints", "WebhookService/ListWebhookEndpoints", {}, /did nothing/],
    [
      "charges",
      "ChargeService/CreateCharge",
      { code: "fee", name: "Fee", price: "1" },
      /may have been done/,
    ],
  ] as const) {
    const options = { key, body: { organisation, ...body } };
    const answer = await losing(table, () => ask(`${url}${method}`, "POST", options));
    expect([answer.json.code, answer.json.message], answer.text).toEqual([
      "unavailable",
      expect.stringMatching(message),
    ]);
  }
});
