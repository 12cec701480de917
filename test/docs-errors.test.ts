/** Each error code has a page in docs/errors, and the OpenAPI document links it. REQUEST-15. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { type RefusalCode, refusals } from "../src/domain/refusal.ts";
import { UsageEventErrorCodeSchema } from "../src/gen/proto/billing/v1/usage_pb.ts";
import { errorPage } from "../tools/openapi/errors.ts";
import { enumJsonNames } from "../tools/openapi/json-values.ts";
import { at, document, type Json } from "./contract/answer-check.ts";

const folder = join(import.meta.dirname, "../docs/errors");
const pages = readdirSync(folder)
  .filter((name) => name !== "README.md")
  .map((name) => name.replace(/\.md$/, ""));
const read = (code: string) => readFileSync(join(folder, `${code}.md`), "utf8");

const codes = Object.keys(refusals) as RefusalCode[];
const usageCodes = enumJsonNames(UsageEventErrorCodeSchema);
const all = [...new Set([...codes, ...usageCodes])].toSorted();

test("each code of the contract has its page, and each page a code", () => {
  expect(usageCodes).toHaveLength(8);
  expect(pages.toSorted()).toEqual(all);
});

test("the index of the error pages links each page once", () => {
  const linked = [...read("README").matchAll(/\[\w+\]\((\w+)\.md\)/g)].map(([, code]) => code);
  expect(linked.toSorted()).toEqual(all);
});

test.each(all)("the page of %s says what it means, what to do and whether to retry", (code) => {
  const page = read(code);
  const parts = page.split("\n\n");
  expect(parts).toHaveLength(5);
  for (const [index, part] of ["What it means", "What to do", "Retry"].entries())
    expect(parts[index + 2]).toMatch(new RegExp(`^\\*\\*${part}\\.\\*\\* \\S[\\s\\S]+\\.\\n?$`));
  expect(page.startsWith(`# ${code}\n`)).toBe(true);
});

test.each(codes)("the page of %s has the status, type and Connect code of its row", (code) => {
  const { status, type, connect } = refusals[code];
  const name = Object.keys(Code).find(
    (one) => one.toLowerCase() === connect.replaceAll("_", "").toLowerCase(),
  );
  expect(read(code)).toContain(`\`${status}\` \`${type}\`. Over Connect and gRPC \`${name}\`.`);
});

test("the pages of codes with a delay name the header that has it", () => {
  for (const code of ["rate_limited", "request_in_progress", "temporarily_unavailable"])
    expect(read(code)).toMatch(/Retry\.\*\* Yes, after `Retry-After` seconds/);
});

test("the OpenAPI document links the page of each code that an operation answers", () => {
  const operations = Object.values(at(document, "paths") ?? {}).flatMap((item) =>
    Object.values(item as Json),
  ) as Json[];
  expect(operations.length).toBeGreaterThan(20);
  for (const operation of operations) {
    const responses = Object.values(at(operation, "responses") ?? {}) as Json[];
    const named = responses.flatMap((response) =>
      Object.keys(at(response, "content", "application/json", "examples") ?? {}).map((code) => ({
        code,
        description: String(response.description),
      })),
    );
    expect(named.length).toBeGreaterThan(3);
    for (const { code, description } of named)
      expect(description).toContain(`[\`${code}\`](${errorPage(code as RefusalCode)})`);
  }
});
