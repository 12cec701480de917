/**
 * The commands of docs/clients.md: generators read the document that the service serves, the code
 * compiles, and the page's programs create a subscription with it.
 */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { places } from "../../tools/client-generators/places.ts";
import { reusedSystemTest } from "../support/fixtures.ts";
import { areThere, blockOf, type Workshop, withRegistry, workshop } from "./documented-programs.ts";

const page = "docs/clients.md";

/** A subscription's id and the total of its first invoice: 12 units of the plan `team`. */
const created = /^[0-9a-f-]{36} \d+\.\d{4}$/m;

interface Shop extends Workshop {
  /** The environment of the page's programs. */
  readonly env: NodeJS.ProcessEnv;
  readonly document: { readonly tags: readonly { readonly name: string }[] };
}

/** A folder with the served document, and a new organisation with its key. */
const test = reusedSystemTest.extend("shop", async ({ system }): Promise<Shop> => {
  const own = workshop();
  const { apiKey } = await system.organisation();
  const text = await (await fetch(`${system.baseUrl}/v1/openapi.json`)).text();
  own.write("openapi.json", text);
  const env = { BILLING_URL: system.baseUrl, BILLING_API_KEY: apiKey };
  return { ...own, env, document: JSON.parse(text) };
});

test("openapi-typescript's types fit the page's program, which creates a subscription", async ({
  shop,
}) => {
  const [generator, compiler] = [places.npm("openapi-typescript"), places.npm("tsc")];
  if (!areThere("openapi-typescript", generator, compiler)) return;
  symlinkSync(places.npmModules(), join(shop.folder, "node_modules"));
  shop.write("package.json", '{ "type": "module" }');
  await shop.run(generator, ["openapi.json", "--output", "billing.ts"]);
  shop.write("create.ts", blockOf(page, "create.ts"));
  const options = ["--strict", "--noEmit", "--allowImportingTsExtensions", "--types", "node"];
  const modules = ["--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom"];
  await shop.run(compiler, [...options, ...modules, "create.ts"]);
  expect(await shop.run(process.execPath, ["create.ts"], { env: shop.env })).toMatch(created);
});

test("openapi-python-client's code creates a subscription", async ({ shop }) => {
  const generator = places.python("openapi-python-client");
  if (!areThere("openapi-python-client", generator)) return;
  const command = ["generate", "--path", "openapi.json", "--meta", "none"];
  const written = await shop.run(generator, [...command, "--output-path", "billing_client"]);
  expect(written).not.toMatch(/warning|unable to parse/i);
  await shop.run(places.python("python"), ["-m", "compileall", "-q", "billing_client"]);
  shop.write("create.py", blockOf(page, "create.py"));
  const output = await shop.run(places.python("python"), ["create.py"], { env: shop.env });
  expect(output).toMatch(created);
});

test("openapi-generator's code for Python creates a subscription", async ({ shop }) => {
  if (!areThere("openapi-generator for Python", places.jar(), places.python("python"))) return;
  const tags = shop.document.tags.map(({ name }) => name).filter((name) => name !== "webhooks");
  const parts = `apis=${tags.join(":")},models,supportingFiles,apiTests=false,modelTests=false`;
  await shop.run("java", [
    ...["-jar", places.jar(), "generate", "-i", "openapi.json", "-g", "python", "-o", "."],
    ...["--package-name", "billing_api", "--global-property", parts],
  ]);
  await shop.run(places.python("python"), ["-m", "compileall", "-q", "billing_api"]);
  shop.write("create_generated.py", blockOf(page, "create_generated.py"));
  const output = await shop.run(places.python("python"), ["create_generated.py"], {
    env: shop.env,
  });
  expect(output).toMatch(created);
});

test("oapi-codegen's code creates a subscription", async ({ shop }) => {
  if (!areThere("oapi-codegen", places.go("oapi-codegen"))) return;
  shop.write("main.go", blockOf(page, "main.go"));
  shop.write("go.mod", "module shop\n\ngo 1.24\n");
  shop.write("billing/billing.go", "package billing\n");
  const command = ["-generate", "types,client", "-package", "billing", "-o", "billing/billing.go"];
  await shop.run(places.go("oapi-codegen"), [...command, "openapi.json"]);
  if (!(await withRegistry("oapi-codegen", () => shop.run("go", ["mod", "tidy"])))) return;
  await shop.run("go", ["vet", "./..."]);
  expect(await shop.run("go", ["run", "."], { env: shop.env })).toMatch(created);
});

test("openapi-generator's code for Java compiles", async ({ shop }) => {
  if (!areThere("openapi-generator for Java", places.jar())) return;
  const client = join(shop.folder, "billing-client");
  const command = ["generate", "-i", "openapi.json", "-g", "java", "--library", "native"];
  await shop.run("java", ["-jar", places.jar(), ...command, "-o", client]);
  await withRegistry("openapi-generator for Java", () =>
    shop.run("mvn", ["--quiet", "--batch-mode", "--file", join(client, "pom.xml"), "compile"]),
  );
});
