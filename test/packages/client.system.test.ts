/**
 * The client as a platform has it: the packed file, installed in an empty project with a strict
 * compiler, against a started service.
 */
import { expect } from "vitest";
import { newSecret, signatureHeader } from "../../src/webhooks/sign.ts";
import { perFile, started } from "../support/file-fixture.ts";
import { reusedSystemTest } from "../support/fixtures.ts";
import { blockOf, projectWithClient, typeScriptOf } from "./documented-programs.ts";

const readme = "packages/client/README.md";
const programs = typeScriptOf(readme);

const test = reusedSystemTest
  .extend(
    "project",
    perFile,
    started(projectWithClient, (project) => project.remove()),
  )
  .extend("env", async ({ system }) => {
    const { apiKey } = await system.organisation();
    return { BILLING_URL: system.baseUrl, BILLING_API_KEY: apiKey };
  });

test("the packed client has at most 70 kB and installs no other package", async ({ project }) => {
  console.log(`the packed client has ${(project.packedBytes / 1000).toFixed(1)} kB`);
  expect(project.packedBytes).toBeLessThanOrEqual(70_000);
  const listed = await project.run("ls", ["node_modules"]);
  expect(listed.trim().split("\n")).toEqual(
    expect.arrayContaining(["@subscription-billing", "typescript"]),
  );
  expect(listed).not.toMatch(/connectrpc|bufbuild/);
});

test("the README's programs and other uses compile under strict settings", async ({ project }) => {
  for (const [name, text] of Object.entries(programs)) project.write(name, text);
  project.write("uses.ts", uses);
  await project.run(process.execPath, ["node_modules/typescript/bin/tsc", "--project", "."]);
});

test("the README's quickstart has 20 lines and runs, with all that continues it", async ({
  project,
  env,
}) => {
  // Without the comment that names the file.
  expect(blockOf(readme, "quickstart.ts").trimEnd().split("\n").length - 1).toBeLessThanOrEqual(20);
  project.write("quickstart.ts", programs["quickstart.ts"] ?? "");
  const output = await project.run(process.execPath, ["quickstart.ts"], { env });
  console.log(output);
  const lines = output.trim().split("\n");
  const [, invoice = ""] = lines[0]?.split(": ") ?? [];
  expect(lines).toEqual([
    expect.stringMatching(/^created [0-9a-f-]{36}, active: \S+ over \d+\.\d{4}$/),
    `listed ${invoice}`,
    "refused: units_unchanged",
    `due: ${invoice.split(" over ")[1]}`,
    "changed to 15",
    expect.stringMatching(/^refused: .*\S/),
  ]);
});

test("the README's receiver takes a signed event and refuses another body", async ({ project }) => {
  const secret = newSecret();
  const object = { object: "invoice", number: "INV-0001", total: "180.0000" };
  const body = JSON.stringify({ id: "e-1", type: "invoice.paid", data: { object } });
  const header = signatureHeader([secret], body, Math.floor(Date.now() / 1000));
  project.write("receiver.ts", programs["receiver.ts"] ?? "");
  project.write(
    "requests.mjs",
    `import { receive } from "./receiver.ts";
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
    "e-1: INV-0001 over 180.0000 is paid\n204 \n400 signature_wrong\n",
  );
});

test("a misspelt member is refused with the name that is meant", async ({ project, env }) => {
  project.write(
    "wrong.mjs",
    `import { createBillingClient } from "@subscription-billing/client";
const { BILLING_URL: baseUrl, BILLING_API_KEY: apiKey } = process.env;
const billing = createBillingClient({ baseUrl, apiKey });
const show = (error) => console.log(error.param, error.message);
await billing.createSubscription({ customerCode: "ACME", plan_code: "team" }).catch(show);
await billing.listInvoices({ customerId: "ACME" }).page().catch(show);
await createBillingClient({ baseUrl: baseUrl + "/v1", apiKey }).listPlans().page().catch(show);
`,
  );
  const output = await project.run(process.execPath, ["wrong.mjs"], { env });
  expect(output.trim().split("\n")).toEqual([
    "customerCode customerCode is not a member of this request. Is customer_code meant?",
    "customerId customerId is not a parameter of this request. Is customer meant?",
    "null There is no GET /v1/v1/plans",
  ]);
});

/** Uses of the types. A marked line fails if the types accept it. */
const uses = `import {
  createBillingClient,
  type DecimalText,
  type Event,
  type Invoice,
} from "@subscription-billing/client";
const billing = createBillingClient({ baseUrl: "http://127.0.0.1", apiKey: "sk" });
export const invoices: Invoice[] = [];
for await (const invoice of billing.listInvoices({ status: ["paid"] })) invoices.push(invoice);
export const more: boolean = (await billing.listPlans().page()).has_more;
export const name: string = (await billing.getOrganisation()).name;
const upcoming = await billing.getUpcomingInvoice({ id: "s" });
export const subtotal: DecimalText = upcoming.subtotal;
export const price: DecimalText = "-12.5000";
const { status } = await billing.getSubscription({ id: "s" });
export const isOver: boolean = status === "ended" || status === "complete";
export function customerOf(event: Event): string | undefined {
  if (event.type === "subscription.ended") return event.data.object.customer_code;
  return event.data.object.object === "invoice" ? event.data.object.customer : undefined;
}
// @ts-expect-error There is no such status.
export const isWrong: boolean = status === "SUBSCRIPTION_STATUS_ACTIVE";
// @ts-expect-error Text is no number.
export const double: number = price * 2;
// @ts-expect-error An id is needed.
await billing.getInvoice();
// @ts-expect-error There is no such member.
await billing.createSubscription({ customer: "ACME" });
`;
