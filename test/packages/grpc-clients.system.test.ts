/**
 * The package of the contract, in folders that know nothing of this repository: its protos compile
 * by buf and by protoc alone, and the programs of docs/grpc.md call the service with the code.
 */
import { join } from "node:path";
import { expect } from "vitest";
import { places } from "../../tools/client-generators/places.ts";
import { runProgram } from "../../tools/run-program.ts";
import { perFile, started } from "../support/file-fixture.ts";
import { reusedSystemTest } from "../support/fixtures.ts";
import {
  areThere,
  blockOf,
  pack,
  removePacked,
  type Workshop,
  withRegistry,
  workshop,
} from "./documented-programs.ts";

const root = join(import.meta.dirname, "../..");
const page = "docs/grpc.md";

/** A creation, and a refusal with its detail. */
const called = /^created [0-9a-f-]{36} \d+\.\d{4}\nrefused units_unchanged$/m;

interface Shop extends Workshop {
  /** The environment of the page's programs. */
  readonly env: NodeJS.ProcessEnv;
  /** The packed file. */
  readonly packed: string;
  /** The paths of the protos that a platform compiles, below `package/proto`. */
  readonly protos: readonly string[];
}

/** A folder with the unpacked package, and a new organisation with its key. */
const test = reusedSystemTest
  .extend(
    "packed",
    perFile,
    started(() => pack("contract"), removePacked),
  )
  .extend("shop", async ({ system, packed }): Promise<Shop> => {
    const own = workshop();
    await own.run("tar", ["xzf", packed]);
    const listed = await own.run(
      "find",
      ["billing/v1", "billing/options", "buf", "-name", "*.proto"],
      {
        below: "package/proto",
      },
    );
    const { apiKey } = await system.organisation();
    const env = { BILLING_ADDRESS: new URL(system.baseUrl).host, BILLING_API_KEY: apiKey };
    return { ...own, packed, protos: listed.trim().split("\n"), env };
  });

test("buf builds and lints the protos of the package without a registry", ({ shop }) => {
  const folder = join(shop.folder, "package");
  runProgram(root, "buf", ["build", folder]);
  runProgram(root, "buf", ["lint", folder, "--path", join(folder, "proto/billing")]);
  expect(shop.protos).toContain("billing/v1/subscriptions.proto");
});

test("a program in Go calls the service with protoc's code", async ({ shop }) => {
  const [protoc, go] = [places.python("python"), places.go("protoc-gen-go-grpc")];
  if (!areThere("the Go program", protoc, go, places.go("protoc-gen-go"))) return;
  const module = "module=subscription-billing/contract";
  const outputs = ["go", "go-grpc"].flatMap((name) => [
    `--plugin=protoc-gen-${name}=${places.go(`protoc-gen-${name}`)}`,
    `--${name}_out=../contract`,
    `--${name}_opt=${module}`,
  ]);
  shop.write("contract/go.mod", "module subscription-billing/contract\n\ngo 1.24\n");
  const words = ["-m", "grpc_tools.protoc", "-I", "proto", ...outputs, ...shop.protos];
  await shop.run(protoc, words, { below: "package" });
  shop.write("main.go", blockOf(page, "main.go"));
  shop.write("go.mod", "module shop\n\ngo 1.24\n");
  const isReady = await withRegistry("the Go program", async () => {
    await shop.run("go", ["mod", "tidy"], { below: "contract" });
    await shop.run("go", ["mod", "edit", "-replace", "subscription-billing/contract=./contract"]);
    await shop.run("go", ["mod", "tidy"]);
  });
  if (!isReady) return;
  expect(await shop.run("go", ["run", "."], { env: shop.env })).toMatch(called);
});

test("a program in Python calls the service with protoc's code", async ({ shop }) => {
  const python = places.python("python");
  if (!areThere("the Python program", python)) return;
  const outputs = ["--python_out=..", "--pyi_out=..", "--grpc_python_out=.."];
  const words = ["-m", "grpc_tools.protoc", "-I", "proto", ...outputs, ...shop.protos];
  await shop.run(python, words, { below: "package" });
  shop.write("create.py", blockOf(page, "create.py"));
  expect(await shop.run(python, ["create.py"], { env: shop.env })).toMatch(called);
});

test("a program in TypeScript compiles with the package's code and calls the service", async ({
  shop,
}) => {
  shop.write("package.json", '{ "private": true, "type": "module" }');
  const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", shop.packed];
  const libraries = ["@connectrpc/connect@2.2.0", "@connectrpc/connect-node@2.2.0"];
  await shop.run("npm", [...install, ...libraries]);
  shop.write("create.ts", blockOf(page, "create.ts"));
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const types = ["--types", "node", "--typeRoots", join(root, "node_modules/@types")];
  const options = ["--strict", "--noEmit", "--module", "nodenext", "create.ts"];
  await shop.run(process.execPath, [compiler, ...types, ...options]);
  expect(await shop.run(process.execPath, ["create.ts"], { env: shop.env })).toMatch(called);
});
