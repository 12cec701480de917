/**
 * The client as a platform has it: the packed file, installed in an empty project, against a
 * started service.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { newSecret, signatureHeader } from "../../src/webhooks/sign.ts";
import { perFile, started } from "../support/file-fixture.ts";
import { reusedSystemTest } from "../support/fixtures.ts";
import {
  blockOf,
  createWorkshop,
  pack,
  type RemovableWorkshop,
  removePacked,
} from "./documented-programs.ts";

const root = join(import.meta.dirname, "../..");
const readme = "packages/client/README.md";

interface Project extends RemovableWorkshop {
  /** The size of the packed file in bytes. */
  readonly packedBytes: number;
}

/** Packs the client and installs the file in an empty project, with compiler and Node's types. */
async function installed(): Promise<Project> {
  const project = createWorkshop();
  const packed = await pack("client");
  const packedBytes = statSync(packed).size;
  project.write("package.json", '{ "private": true, "type": "module" }');
  const tools = ["typescript", "@types/node"].map((name) => `${name}@${versionOf(name)}`);
  const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", packed];
  await project.run("npm", [...install, ...tools]);
  await removePacked(packed);
  return { ...project, packedBytes };
}

function versionOf(name: string): string {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return devDependencies[name];
}

const test = reusedSystemTest.extend(
  "project",
  perFile,
  started(installed, (project) => project.remove()),
);

test("the packed client has at most 70 kB", ({ project }) => {
  console.log(`the packed client has ${(project.packedBytes / 1000).toFixed(1)} kB`);
  expect(project.packedBytes).toBeLessThanOrEqual(70_000);
});

test("an empty project runs the quickstart of 20 lines against the service", async ({
  system,
  project,
}) => {
  const { apiKey } = await system.organisation();
  const quickstart = blockOf(readme, "quickstart.mjs");
  // Without the comment that names the file.
  expect(quickstart.trimEnd().split("\n").length - 1).toBeLessThanOrEqual(20);
  project.write("quickstart.mjs", quickstart);
  const env = { BILLING_URL: system.baseUrl, BILLING_API_KEY: apiKey };
  const output = await project.run(process.execPath, ["quickstart.mjs"], { env });
  console.log(output);
  const lines = output.trim().split("\n");
  expect(lines).toEqual([
    expect.stringMatching(/^created [0-9a-f-]{36}: \S+ over \d+\.\d{4}$/),
    lines[0]?.replace(/^created \S+ /, "listed "),
    "refused: units_unchanged",
  ]);
});

test("the README's receiver takes a signed event and refuses another body", async ({ project }) => {
  const secret = newSecret();
  const body = JSON.stringify({ id: "e-1", type: "invoice.paid", data: { object: { id: "i" } } });
  const header = signatureHeader([secret], body, Math.floor(Date.now() / 1000));
  project.write("receiver.mjs", blockOf(readme, "receiver.mjs"));
  project.write(
    "requests.mjs",
    `import { receive } from "./receiver.mjs";
const { HEADER, BODY, SECRET } = process.env;
for (const body of [BODY, BODY + " "]) {
  const headers = { "Billing-Signature": HEADER };
  const request = new Request("http://127.0.0.1/", { method: "POST", headers, body });
  const response = await receive(request, SECRET);
  console.log(response.status, await response.text());
}
`,
  );
  const env = { HEADER: header, BODY: body, SECRET: secret };
  expect(await project.run(process.execPath, ["requests.mjs"], { env })).toBe(
    "invoice.paid e-1 { id: 'i' }\n204 \n400 signature_wrong\n",
  );
});

test("the packed client is typed for a project with strict settings", async ({ project }) => {
  project.write("index.ts", typed);
  const compilerOptions = { strict: true, noEmit: true, module: "nodenext", types: ["node"] };
  const settings = { compilerOptions, include: ["index.ts"] };
  project.write("tsconfig.json", JSON.stringify(settings));
  await project.run(process.execPath, ["node_modules/typescript/bin/tsc", "--project", "."]);
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
