/**
 * An operator's day on the command line: first invoice, failed document, leaked key, test clock and
 * a failing webhook endpoint. The platform makes single public calls, and runs a receiver.
 */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyWebhook } from "../../packages/client/src/webhook.ts";
import { programPath } from "../support/process.ts";
import { countDeliveries } from "../support/rows.ts";
import { startSystem, type TestSystem, until } from "../support/system.ts";
import { addEvent } from "../support/webhook-builder.ts";
import { type Received, startReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";
import { createLedgerContacts, createTenant } from "./services/request.ts";

const main = programPath("../packages/cli/src/main.ts");

let system: TestSystem;
let receiver: WebhookReceiver;
const env: NodeJS.ProcessEnv = { ...process.env };

beforeAll(async () => {
  receiver = await startReceiver();
  system = await startSystem({
    env: { WEBHOOK_ADDRESSES: "development", LEDGER_CALL_SECONDS: "20" },
  });
  env.BILLING_ADMIN_URL = system.adminUrl;
  env.BILLING_OPERATOR_TOKEN = await system.operator("owner", "Olga");
});

afterAll(async () => {
  await system?.stop();
  await receiver?.stop();
});

/** What a call of the process came to. */
interface Ended {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs one call as a process. `input` is its standard input. */
async function billing(words: readonly string[], input = ""): Promise<Ended> {
  const child = spawn(process.execPath, [main, ...words], { env, stdio: "pipe" });
  const gone = new Promise<number | null>((resolve) => child.once("close", resolve));
  child.stdin.end(input);
  const [out, err, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), gone]);
  return { exitCode, out, err };
}

/** A call that succeeds; what it shows. */
async function done(words: readonly string[], input = ""): Promise<string> {
  const { exitCode, out, err } = await billing(words, input);
  expect(exitCode, `${words.join(" ")}: ${err}`).toBe(0);
  return out;
}

/** The same as JSON. */
async function json(words: readonly string[], input = "") {
  return JSON.parse(await done([...words, "--json"], input));
}

/** The platform's own call. */
async function subscribe(key: string, order: string, units: number) {
  const body = { customer_code: "FIRST", plan_code: "growth", units };
  return system.ask("POST", "/v1/subscriptions", { key, idempotencyKey: order, body });
}

test("an operator sets up an organisation and corrects a failed document", async () => {
  const tenant = await createTenant(system);
  const contacts = Array.from({ length: 4 }, (_, index) => ({
    name: `Contact ${index}`,
    email: `c${index}@first.example`,
  }));
  await createLedgerContacts(tenant, [
    { name: "First Customer", code: "FIRST", email: "pay@first.example" },
    ...contacts,
  ]);

  // First organisation.
  expect(await done(["whoami"])).toMatch(/^You are Olga, owner, /);
  const settings = { name: "First Ltd", timezone: "Pacific/Auckland", default_currency: "NZD" };
  const made = await json(
    ["organisations", "create", "--file", "-", "--due-days", "20"],
    JSON.stringify(settings),
  );
  expect(made).toMatchObject({
    name: "First Ltd",
    livemode: true,
    due_days: 20,
    first_invoice_status: "draft",
  });
  env.BILLING_ORGANISATION = made.id;
  const connect = [
    "ledger",
    "connect",
    "--kind",
    "xero",
    "--tenant-id",
    tenant.tenantId,
    "--client-id",
    tenant.clientId,
  ];
  const where = ["--base-url", tenant.baseUrl, "--identity-url", tenant.identityUrl];
  const wrong = await billing(
    [...connect, ...where, "--client-secret-file", "-"],
    "a wrong secret\n",
  );
  expect([wrong.exitCode, wrong.err]).toEqual([
    1,
    expect.stringMatching(/^ledger_refused: .*request/),
  ]);
  const connected = await done(
    [...connect, ...where, "--client-secret-file", "-"],
    `${tenant.clientSecret}\n`,
  );
  expect(connected).toMatch(/ledger name +Own ledger/);
  expect(connected).not.toContain(tenant.clientSecret);
  await done(["ledger", "check"]);
  expect(await done(["ledger", "options", "accounts"])).toMatch(/^200 +Sales +yes +yes$/m);
  await done(["mapping", "set", "--revenue-account", "200", "--tax-type", "OUTPUT2"]);

  // Customers and catalogue.
  const imported = await json(["customers", "import", "--all"]);
  expect(imported).toMatchObject({ imported: 5, rejected: 0 });
  expect(await done(["customers", "list"])).toMatch(
    /FIRST +First Customer +pay@first\.example +active/,
  );
  expect(await done(["customers", "contacts", "--importable"])).toBe("None.\n");
  const plan = {
    code: "growth",
    name: "Growth",
    type: "tiered",
    tiers: [{ up_to: 5, unit_price: "7" }, { unit_price: "6" }],
  };
  await done([
    "meters",
    "create",
    "--code",
    "api-calls",
    "--name",
    "API calls",
    "--unit-label",
    "call",
  ]);
  await done(
    ["plans", "create", "--file", "-", "--meter", "api-calls=0.002"],
    JSON.stringify(plan),
  );
  await done(["plans", "set-status", "growth", "active"]);
  const shown = await done(["plans", "get", "growth"]);
  expect(shown).toMatch(/status +active/);
  expect(shown).toMatch(/meters .*code api-calls.*price 0\.0020/);

  // A key, alone on the standard output, and the first invoice.
  const key = (
    await done([
      "api-keys",
      "create",
      "--name",
      "Shop",
      "--scopes",
      "subscriptions:write,invoices:read",
    ])
  ).trim();
  expect(key).toMatch(/^sk_live_\S+$/);
  const first = await subscribe(key, "order-1", 12);
  expect(first.status, first.text).toBe(201);
  expect(first.json.invoice).toMatchObject({ number: "SUB-0001", status: "draft" });

  // A plan is mapped onto an unknown account. Its next invoice is refused, found and corrected.
  await done(["mapping", "set", "--plan", "growth", "--revenue-account", "999", "--skip-check"]);
  const second = await subscribe(key, "order-2", 3);
  expect(second.json.invoice).toMatchObject({ status: "not_in_external" });
  const { data: failed } = await json(["documents", "list", "--state", "failed"]);
  expect(failed).toEqual([
    expect.objectContaining({ id: second.json.invoice.id, reason: "account_invalid" }),
  ]);
  expect(await done(["mapping", "get"])).toMatch(/growth.*999/);
  const { id } = failed[0];
  const again = await billing(["documents", "retry", id, "--wait", "300"]);
  expect([again.exitCode, again.out]).toEqual([1, expect.stringMatching(/state +failed/)]);
  await done(["mapping", "set", "--plan", "growth", "--revenue-account", "260"]);
  expect(await done(["documents", "retry", id, "--wait", "300"])).toMatch(/state +synced/);
  expect(await done(["documents", "list"])).toBe("None.\n");
  expect(await system.ledgerInvoices(tenant.tenantId)).toHaveLength(2);

  // What the plan bills never changes now that it is used.
  const used = await billing(["plans", "update", "growth", "--minimum-units", "3"]);
  expect([used.exitCode, used.err]).toEqual([1, expect.stringMatching(/^plan_in_use: /)]);

  // The key leaked.
  const { data: keys } = await json(["api-keys", "list"]);
  expect(keys).toEqual([
    expect.objectContaining({
      name: "Shop",
      status: "active",
      redacted_value: expect.stringContaining(key.slice(-4)),
    }),
  ]);
  const unasked = await billing(["api-keys", "revoke", keys[0].id]);
  expect([unasked.exitCode, unasked.err]).toEqual([2, expect.stringContaining("--yes")]);
  await done(["api-keys", "revoke", keys[0].id, "--yes"]);
  expect((await system.ask("GET", "/v1/invoices", { key })).status).toBe(401);

  // Who did all that.
  const log = await done(["audit", "list", "--organisation", made.id, "--all"]);
  expect(log).toMatch(/Olga +RevokeApiKey +api_key/);
  expect(log).toMatch(/Olga +RetryDocument +document/);
  const whole = await done(["audit", "list", "--all", "--json"]);
  for (const secret of [tenant.clientSecret, key]) expect(whole).not.toContain(secret);

  // A read-only operator with a token.
  const looker = await json(["operators", "create", "--name", "Rita", "--role", "read-only"]);
  const token = await done([
    "operator-tokens",
    "create",
    "--operator",
    looker.id,
    "--name",
    "Laptop",
  ]);
  const refused = await billing(
    ["plans", "set-status", "growth", "legacy", "--token-file", "-"],
    token,
  );
  expect([refused.exitCode, refused.err]).toEqual([
    1,
    expect.stringMatching(/^insufficient_role: /),
  ]);
});

test("an operator advances a sandbox's clock by months, and sees its renewals", async () => {
  const sandbox = await system.organisation({ livemode: false });
  const words = ["--organisation", sandbox.organisationId];
  expect(await json(["clock", "get", ...words])).toMatchObject({ state: "real_time" });
  const body = { customer_code: "ACME", plan_code: "team", units: 5 };
  const made = await system.ask("POST", "/v1/subscriptions", {
    key: sandbox.apiKey,
    idempotencyKey: "clock",
    body,
  });
  expect(made.status, made.text).toBe(201);
  const { exitCode, out, err } = await billing([
    "clock",
    "advance",
    ...words,
    "--months",
    "3",
    "--wait",
  ]);
  expect([exitCode, err.split("\n")[0]]).toEqual([
    0,
    expect.stringMatching(/Z: \d+ performed, \d+ invoices issued$/),
  ]);
  expect(out).toMatch(/^state +standing$/m);
  expect(out).toMatch(/^advance invoices issued +3$/m);
  const live = await system.organisation();
  const refused = await billing([
    "clock",
    "advance",
    "--organisation",
    live.organisationId,
    "--days",
    "1",
  ]);
  expect([refused.exitCode, refused.err]).toEqual([
    1,
    expect.stringMatching(/^invalid_state: .*sandbox/),
  ]);
});

test("an operator tests a webhook endpoint and resends missed events", async () => {
  const { organisationId } = await system.organisation();
  env.BILLING_ORGANISATION = organisationId;
  receiver.answer("/hooks", { status: 500, body: "not yet" });
  const { endpoint, secret } = await json([
    "webhooks",
    "create",
    receiver.url("/hooks"),
    "--kinds",
    "invoice.paid",
  ]);
  const failed = await billing(["webhooks", "test", endpoint.id, "--wait", "100"]);
  expect([failed.exitCode, failed.out]).toEqual([1, expect.stringMatching(/^last status +500$/m)]);
  expect(failed.out).toContain("answer not yet");

  // A resend is sent at once, before the next attempt. The event is the same, with a new signature.
  const { data } = await json(["webhooks", "deliveries", "--endpoint", endpoint.id]);
  expect(data).toEqual([
    expect.objectContaining({ event_type: "webhook_endpoint.test", last_status: 500 }),
  ]);
  receiver.answer("/hooks", { status: 204 });
  await done(["webhooks", "resend", data[0].id]);
  const [first, second] = await until("the test event has come twice", async () =>
    arrived("/hooks", 2),
  );
  expect([first?.body, await isSigned(second, secret)]).toEqual([second?.body, true]);

  // Both secrets sign after a rotation.
  const rotated = (await done(["webhooks", "rotate", endpoint.id, "--yes"])).trim();
  const sent = await json(["webhooks", "test", endpoint.id, "--wait", "100"]);
  expect(sent).toMatchObject({ state: "delivered", last_status: 204 });
  const third = receiver.received("/hooks").find(({ body }) => body.includes(sent.event));
  const bySecret = [rotated, secret].map((each) => isSigned(third, each));
  expect(await Promise.all(bySecret)).toEqual([true, true]);

  // One command resends the events that were published while it was disabled.
  await done(["webhooks", "disable", endpoint.id, "--reason", "Moves"]);
  const event = await addEvent(system.pool, organisationId, "invoice.paid", 0);
  await done(["webhooks", "enable", endpoint.id]);
  const since = new Date(Date.now() - 60 * 60 * 1000).toISOString();
  expect(await json(["webhooks", "resend-all", endpoint.id, "--since", since])).toEqual({
    resent: 0,
    added: 1,
  });
  const delivered = { eventId: event, state: "delivered" };
  await until(
    "the missed event is delivered",
    async () => (await countDeliveries(system.pool, delivered)) === 1,
  );
  expect(await done(["audit", "list", "--organisation", organisationId])).toMatch(
    /Olga +RotateWebhookSecret +webhook_endpoint/,
  );
});

/** What came to a path once it is so many requests; nothing before. */
function arrived(path: string, count: number): readonly Received[] | null {
  const received = receiver.received(path);
  return received.length >= count ? received : null;
}

/** Whether a receiver with the secret accepts a request. */
async function isSigned(request: Received | undefined, secret: string): Promise<boolean> {
  const header = String(request?.headers["billing-signature"]);
  return (await verifyWebhook({ header, body: request?.body ?? "", secret })).ok;
}
