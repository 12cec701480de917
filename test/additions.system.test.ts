/**
 * The table "Where to add things" of docs/architecture.md, performed in a copy of the tree: what
 * does not compile until the addition is whole, what follows without a line, and what a service of
 * the copy does with it.
 */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { migrate } from "../src/store/database/migrations/migrate.ts";
import { billingScheduleId } from "../workflows/contract.ts";
import { startSystem, type TestSystem, until } from "./support/system.ts";
import { startReceiver, type WebhookReceiver } from "./support/webhook-receiver.ts";

const root = join(import.meta.dirname, "..");

/** What compiling and generating needs. */
const copied = [
  ...["src", "workflows", "proto", "prisma", "tools", ".proto-deps"],
  ...["packages/demo-ledger/src", "packages/dev/src"],
  ...["package.json", "tsconfig.json", "buf.yaml", "buf.gen.yaml"],
];

/** The compiler's results are kept between its runs. One checker takes half the time of four. */
const settings = {
  extends: "./tsconfig.json",
  include: ["src", "workflows", "tools"],
  compilerOptions: { incremental: true, tsBuildInfoFile: "copy.tsbuildinfo" },
};

/** The unchanged tree with the compiler's results, from which each test's copy is made. */
const base = mkdtempSync(join(tmpdir(), "additions-"));
let copy = base;

beforeAll(() => {
  for (const path of copied)
    cpSync(join(root, path), join(copy, path), { recursive: true, preserveTimestamps: true });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  write("tsconfig.copy.json", JSON.stringify(settings));
  expect(faults()).toEqual([]);
});

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "additions-"));
  cpSync(base, copy, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
});

afterEach(() => {
  rmSync(copy, { recursive: true, force: true });
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

function write(path: string, text: string): void {
  writeFileSync(join(copy, path), text);
}

/** Replaces the first occurrence of `before`. Fails if there is none. */
function edit(path: string, before: string, after: string): void {
  const text = readFileSync(join(copy, path), "utf8");
  expect(text).toContain(before);
  write(
    path,
    text.replace(before, () => after),
  );
}

function run(program: string, ...args: readonly string[]): { failed: boolean; output: string } {
  try {
    const output = execFileSync(program, args, { cwd: copy, encoding: "utf8", stdio: "pipe" });
    return { failed: false, output };
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    return { failed: true, output: stdout + stderr };
  }
}

/** Generates the code of the copy. Returns why it failed, or null. */
function generate(): string | null {
  const { failed, output } = run(process.execPath, "tools/gen.ts");
  return failed ? output : null;
}

/**
 * The files of the copy that do not compile. What earlier calls checked is not checked again unless
 * a change reaches it.
 */
function faults(): readonly string[] {
  const { output } = run(
    "node_modules/.bin/tsc",
    ...["--noEmit", "--checkers", "1", "-p", "tsconfig.copy.json"],
  );
  return [...new Set([...output.matchAll(/^([^\s(]+)\(\d+,\d+\): error/gm)].map(([, at]) => at))]
    .map(String)
    .sort();
}

test("an endpoint needs an rpc and its method to compile, and OpenAPI follows", () => {
  edit(
    "proto/billing/v1/customers.proto",
    "  // Retrieve a customer by its id.\n",
    `  // Retrieve what a customer owes.
  rpc GetBalance(GetBalanceRequest) returns (GetBalanceResponse) {
    option (google.api.http) = {get: "/v1/customers/{id}/balance"};
    option (billing.options.v1.operation) = {
      scope: "customers:read"
      refusals: ["customer_not_found"]
    };
    option idempotency_level = NO_SIDE_EFFECTS;
  }

  // Retrieve a customer by its id.
`,
  );
  const contract = "proto/billing/v1/customers.proto";
  const messages = `
// Which customer.
message GetBalanceRequest {
  // The customer's id.
  string id = 1;
}

// What the customer owes.
message GetBalanceResponse {
  // The amount, a decimal.
  string amount = 1 [(billing.options.v1.field) = {example: "\\"0.00\\""}];
}
`;
  write(contract, readFileSync(join(copy, contract), "utf8") + messages);
  expect(generate()).toContain("GetBalanceResponse needs a name in schema-names.ts");
  edit(
    "tools/openapi/schema-names.ts",
    '  ChangeUnitsResponse: "UnitsChanged",\n',
    '  ChangeUnitsResponse: "UnitsChanged",\n  GetBalanceResponse: "Balance",\n',
  );
  expect(generate()).toBeNull();
  expect(faults()).toEqual(["src/services/customers/index.ts"]);
  edit(
    "src/services/customers/index.ts",
    "    createCustomer: createCustomer(deps),\n",
    "    createCustomer: createCustomer(deps),\n" +
      '    getBalance: async () => ({ amount: "0.00" }),\n',
  );
  expect(faults()).toEqual([]);
  const { paths } = JSON.parse(readFileSync(join(copy, "src/gen/openapi.json"), "utf8"));
  expect(paths["/v1/customers/{id}/balance"].get.responses).toHaveProperty("404");
});

/** A model with one price: of each hundred units begun. An explanation multiplies by hundreds. */
const packageModel = `/** Package: the price for each hundred units begun. */
const packages: PricingModel = {
  operation: "price_each",
  hasUnits: true,
  tierPrices: "none",
  parts: ({ price }, { unscaled }) => [{ quantity: decimalOf((unscaled + 99n) / 100n), price }],
};
`;

const catalogue = "src/domain/catalogue";

function addPlanType(): void {
  edit(`${catalogue}/plan.ts`, '"flat_fee" | ', '"flat_fee" | "package" | ');
}

function addPricingModel(): void {
  const models = `${catalogue}/pricing/models.ts`;
  const last = "/**\n * Returns the first tier whose";
  edit(models, last, `${packageModel}\n${last}`);
  edit(models, "  flat_fee: flatFee,\n", "  flat_fee: flatFee,\n  package: packages,\n");
}

function addEnumValue(): void {
  const last = "  PLAN_TYPE_STAIRSTEP = 5;\n";
  const value = "  // The price for each hundred units begun.\n  PLAN_TYPE_PACKAGE = 6;\n";
  edit("proto/billing/v1/catalogue.proto", last, last + value);
}

test("a pricing model needs a model, a line of the registry and an enum value to compile", () => {
  addPlanType();
  expect(faults()).toContain(`${catalogue}/pricing/models.ts`);
  addPricingModel();
  expect(faults()).toEqual(["src/admin/present/catalogue.ts", "src/present/objects.ts"]);
  addEnumValue();
  expect(generate()).toBeNull();
  expect(faults()).toEqual([]);
});

test("an error code needs a row of the table and a text to compile", () => {
  edit(
    "src/domain/refusal.ts",
    "  subscription_not_found: notFound,\n",
    "  subscription_not_found: notFound,\n  balance_not_found: notFound,\n",
  );
  expect(faults()).toEqual(["tools/openapi/refusal-texts.ts"]);
  edit(
    "tools/openapi/refusal-texts.ts",
    '  unknown_endpoint: "There is no such endpoint.",\n',
    '  unknown_endpoint: "There is no such endpoint.",\n' +
      '  balance_not_found: "There is no balance.",\n',
  );
  expect(faults()).toEqual([]);
});

test("an object's status that an event states needs its kind of event to compile", () => {
  edit(
    "src/domain/events/event.ts",
    '"credit_note"] as const;',
    '"credit_note", "plan"] as const;',
  );
  const missing = faults();
  expect(missing).toContain("src/domain/events/event.ts");
  expect(missing.length).toBeGreaterThan(1);
});

const outboxOfCustomers = "prisma/functions/events/outbox_customers.sql";

/** Publishes `customer.deactivated`, when a customer's status becomes inactive. */
function addEventKind(): void {
  const event = "src/domain/events/event.ts";
  edit(event, '  "customer.deleted",\n', '  "customer.deactivated",\n  "customer.deleted",\n');
  edit(event, '"created" | "updated" | ', '"created" | "updated" | "deactivated" | ');
  const states = '[{ change: "deactivated", statuses: ["inactive"] }]';
  edit(event, "  customer: [],\n", `  customer: ${states},\n`);
  const occasion = '  "customer.deactivated": "A customer was deactivated.",\n';
  edit(
    "tools/openapi/webhooks.ts",
    '  "customer.deleted":\n',
    `${occasion}  "customer.deleted":\n`,
  );
  edit(
    outboxOfCustomers,
    "THEN 'created' ELSE",
    "THEN 'created' WHEN n.status <> o.status AND n.status = 'inactive' THEN 'deactivated' ELSE",
  );
}

/** Records the change of a webhook endpoint with another target. */
function addAuditTarget(): void {
  const [before, after] = ['"webhook_endpoint"', '"webhook_receiver"'];
  edit("src/store/admin/changes.ts", `| ${before}`, `| ${before} | ${after}`);
  const endpoints = "src/store/admin/webhooks/webhook-endpoints.ts";
  edit(endpoints, `targetKind: ${before}`, `targetKind: ${after}`);
}

/** The words that each CHECK gets. */
const addedWords = {
  plans_type: "package",
  plans_with_tiers_have_no_price: "package",
  plan_meters_type: "package",
  outbox_change: "deactivated",
  audit_log_target_kind: "webhook_receiver",
};

/** Migrates the database to a migration of the copy: the CHECKs, and the changed function. */
async function migrateAdditions({ pool, databaseUrl }: TestSystem): Promise<void> {
  const statements: string[] = [];
  for (const [name, word] of Object.entries(addedWords)) {
    const { rows } = await pool.query(
      `SELECT conrelid::regclass::text AS "table", pg_get_constraintdef(oid) AS condition
      FROM pg_constraint WHERE conname = $1`,
      [name],
    );
    const [{ table, condition }] = rows;
    const widened = condition.replace("ARRAY[", `ARRAY['${word}'::text, `);
    statements.push(`ALTER TABLE ${table} DROP CONSTRAINT ${name};
      ALTER TABLE ${table} ADD CONSTRAINT ${name} ${widened};`);
  }
  statements.push(readFileSync(join(copy, outboxOfCustomers), "utf8"));
  const migrations = "prisma/migrations";
  mkdirSync(join(copy, migrations, "99990101000000_additions"));
  write(`${migrations}/99990101000000_additions/migration.sql`, statements.join("\n"));
  await migrate(databaseUrl, { migrationsFolder: join(copy, migrations) });
}

test("an added model bills, an added event is delivered, an added target is listed", async () => {
  for (const add of [addPlanType, addPricingModel, addEnumValue, addEventKind, addAuditTarget])
    add();
  expect(generate()).toBeNull();
  expect(faults()).toEqual([]);
  const system = await startSystem({
    sources: join(copy, "src"),
    without: ["api", "worker"],
    env: { WEBHOOK_ADDRESSES: "development" },
  });
  const receiver = await startReceiver();
  try {
    await migrateAdditions(system);
    await Promise.all([system.api.start(), system.worker.start()]);
    await useAdditions(system, receiver);
  } finally {
    await receiver.stop();
    await system.stop();
  }
});

async function useAdditions(system: TestSystem, receiver: WebhookReceiver): Promise<void> {
  const { organisationId: organisation, apiKey: key } = await system.organisation();
  const operator = await system.operator();
  const admin = async (method: string, body: object) => {
    const answer = await system.askAdmin(method, { key: operator, body });
    expect(answer.status, answer.text).toBe(200);
    return answer.json;
  };
  await admin("WebhookService/CreateWebhookEndpoint", { organisation, url: receiver.url("/hook") });
  const type = "PLAN_TYPE_PACKAGE";
  const named = { organisation, code: "packs", name: "Packs", type, price: "5" };
  const { plan } = await admin("PlanService/CreatePlan", named);
  const active = { organisation, id: plan.id, status: "CATALOGUE_STATUS_ACTIVE" };
  await admin("PlanService/SetPlanStatus", active);
  const body = { customer_code: "ACME", plan_code: "packs", units: 150 };
  const created = await system.ask("POST", "/v1/subscriptions", {
    key,
    idempotencyKey: "packs",
    body,
  });
  expect(created.status, created.text).toBe(201);
  const invoices = await system.ask("GET", "/v1/invoices", { key });
  expect(invoices.json.data).toMatchObject([{ subtotal: "10.0000", lines: [{ units: 150 }] }]);
  const customers = await system.ask("GET", "/v1/customers", { key });
  await admin("CustomerService/DeactivateCustomer", {
    organisation,
    id: customers.json.data[0].id,
  });
  await until("the event is delivered", async () => {
    await triggerRelay(system);
    return receiver.received("/hook").some(({ body }) => body.includes('"customer.deactivated"'));
  });
  const { data } = await admin("AuditService/ListAuditEntries", { organisation });
  expect(data.map(({ targetKind }: { targetKind: string }) => targetKind)).toContain(
    "webhook_receiver",
  );
}

async function triggerRelay({ temporal }: TestSystem): Promise<void> {
  const connection = await Connection.connect({ address: temporal.address });
  try {
    const { schedule } = new Client({ connection, namespace: temporal.namespace });
    await schedule.getHandle(billingScheduleId).trigger();
  } finally {
    await connection.close();
  }
}
