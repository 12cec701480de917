/** Each method of the admin API is called by a page, or stands in a list with its reason. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");

/** The methods that no page calls yet, or none will, each with the reason. */
const left: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(join(import.meta.dirname, "left-rpcs.json"), "utf8"),
);

function textsBelow(folder: string, extension: RegExp): string {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(({ parentPath, name }) => extension.test(name) && !parentPath.includes("/src/gen"))
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8"))
    .join("\n");
}

function methods(): readonly string[] {
  const protos = textsBelow("proto/billing/admin/v1", /\.proto$/);
  return [...protos.matchAll(/^service (\w+) \{$(.*?)^\}$/gms)].flatMap(([, service, body = ""]) =>
    [...body.matchAll(/^ {2}rpc (\w+)\(/gm)].map(([, method]) => `${service}.${method}`),
  );
}

function isCalled(method: string, code: string): boolean {
  const name = method.split(".")[1] ?? "";
  return new RegExp(
    `\\b(?:method|methods)\\.${name.charAt(0).toLowerCase()}${name.slice(1)}\\b`,
  ).test(code);
}

test("each method is called by a page, or stands in the list with its reason", () => {
  const code = textsBelow("packages/console/src", /\.tsx?$/);
  const missing = methods().filter((method) => !isCalled(method, code) && !(method in left));
  expect(missing).toEqual([]);
});

test("the list names only methods that exist and that no page calls", () => {
  const code = textsBelow("packages/console/src", /\.tsx?$/);
  const all = new Set(methods());
  const stale = Object.keys(left).filter((method) => !all.has(method) || isCalled(method, code));
  expect(stale).toEqual([]);
});
