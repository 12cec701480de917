/**
 * The client as a platform has it: the packed file, installed in an empty project, against a
 * started service.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { perFile, started } from "../support/file-fixture.ts";
import { reusedSystemTest } from "../support/fixtures.ts";
import { blockOf, pack, removePacked, workshop } from "./documented-programs.ts";

const root = join(import.meta.dirname, "../..");
const readme = "packages/client/README.md";

const test = reusedSystemTest
  .extend("own", ({ system }) => system.organisation())
  .extend(
    "packed",
    perFile,
    started(() => pack("client"), removePacked),
  );

test("the packed client has at most 60 kB, and an empty project runs its quickstart", async ({
  system,
  own,
  packed,
}) => {
  const project = workshop();
  const size = statSync(packed).size;
  console.log(`the packed client has ${(size / 1000).toFixed(1)} kB`);
  expect(size).toBeLessThanOrEqual(60_000);
  project.write("package.json", '{ "private": true }');
  const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", packed];
  await project.run("npm", install);
  const quickstart = blockOf(readme, "quickstart.mjs");
  // Without the comment that names the file.
  expect(quickstart.trimEnd().split("\n").length - 1).toBeLessThanOrEqual(20);
  project.write("quickstart.mjs", quickstart);
  const env = { BILLING_URL: system.baseUrl, BILLING_API_KEY: own.apiKey };
  const output = await project.run(process.execPath, ["quickstart.mjs"], { env });
  const lines = output.trim().split("\n");
  expect(lines).toEqual([
    expect.stringMatching(/^created [0-9a-f-]{36}: \S+ over \d+\.\d{4}$/),
    lines[0]?.replace(/^created \S+ /, "listed "),
    "refused: units_unchanged",
  ]);
});

test("the packed client is typed for a project with strict settings", async ({ packed }) => {
  const project = workshop();
  project.write("package.json", '{ "private": true, "type": "module" }');
  const types = `@types/node@${versionOf("@types/node")}`;
  const compiler = `typescript@${versionOf("typescript")}`;
  const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", packed];
  await project.run("npm", [...install, types, compiler]);
  project.write("index.ts", typed);
  project.write(
    "tsconfig.json",
    JSON.stringify({
      compilerOptions: { strict: true, noEmit: true, module: "nodenext", types: ["node"] },
    }),
  );
  await project.run("npx", ["tsc", "--project", "."]);
});

/** Uses of the types. A marked line fails if the types accept it. */
const typed = `import { createBillingClient, type Invoice } from "@subscription-billing/client";
const billing = createBillingClient({ baseUrl: "http://127.0.0.1", apiKey: "sk" });
export const invoices: Invoice[] = [];
for await (const invoice of billing.listInvoices({ status: [] })) invoices.push(invoice);
export const more: boolean = (await billing.listPlans().page()).hasMore;
export const name: string | undefined = (await billing.getOrganisation()).organisation?.name;
// @ts-expect-error An id is needed.
await billing.getInvoice();
// @ts-expect-error There is no such member.
await billing.createSubscription({ customer: "ACME" });
`;

function versionOf(name: string): string {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return devDependencies[name];
}
