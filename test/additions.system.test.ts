/**
 * The table "Where to add things" of docs/architecture.md, performed in a copy of the tree: what
 * does not compile until the addition is whole, and what follows without a line.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

/** What compiling and generating needs. */
const copied = [
  ...["src", "workflows", "proto", "prisma", "tools", ".proto-deps"],
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

test("a pricing model needs a file, a line of the registry and an enum value to compile", () => {
  const catalogue = "src/domain/catalogue";
  edit(`${catalogue}/plan.ts`, '"flat_fee" | ', '"flat_fee" | "package" | ');
  expect(faults()).toContain(`${catalogue}/pricing/index.ts`);
  write(
    `${catalogue}/pricing/package.ts`,
    `/** Package: the price for each hundred units begun. */
import { decimalOf } from "../../money/decimal.ts";
import type { PricingModel } from "./pricing-model.ts";

/** The price of each package. */
export const packages: PricingModel = {
  hasUnits: true,
  tierPrices: "none",
  parts: ({ price }, { unscaled }) => [{ quantity: decimalOf((unscaled + 99n) / 100n), price }],
};
`,
  );
  edit(
    `${catalogue}/pricing/index.ts`,
    'import { perUnit } from "./per-unit.ts";\n',
    'import { packages } from "./package.ts";\nimport { perUnit } from "./per-unit.ts";\n',
  );
  edit(
    `${catalogue}/pricing/index.ts`,
    "  flat_fee: flatFee,\n",
    "  flat_fee: flatFee,\n  package: packages,\n",
  );
  expect(faults()).toEqual(["src/admin/present/catalogue.ts", "src/services/present.ts"]);
  edit(
    "proto/billing/v1/catalogue.proto",
    "  PLAN_TYPE_STAIRSTEP = 5;\n",
    "  PLAN_TYPE_STAIRSTEP = 5;\n" +
      "  // The price for each hundred units begun.\n  PLAN_TYPE_PACKAGE = 6;\n",
  );
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
