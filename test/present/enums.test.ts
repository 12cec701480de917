/** The words of enums: they are the words of the enum in JSON over REST. */
import { expect, test } from "vitest";
import * as adminTables from "../../src/admin/present/enums.ts";
import { PlanType } from "../../src/gen/proto/billing/v1/catalogue_pb.ts";
import * as tables from "../../src/present/enums.ts";
import { enumJsonName } from "../../src/transport/rpc/validation/enum-words.ts";
import { adminMethods, methods } from "../contract/methods.ts";

/** The words of every enum of the contract with their numbers. */
const contract = [...new Set([...methods, ...adminMethods].map(({ parent }) => parent.file))]
  .flatMap((file) => [file, ...file.dependencies])
  .flatMap((file) => file.enums)
  .map(({ values }) =>
    values
      .filter(({ number }) => number !== 0)
      .map((value) => [enumJsonName(value), value.number] as const),
  );

const named = Object.entries<unknown>({ ...tables, ...adminTables }).filter(
  (entry): entry is [string, Readonly<Record<string, number>>] => typeof entry[1] === "object",
);

test("the modules of enum words have tables for both contracts", () => {
  expect(named.map(([name]) => name)).toEqual(expect.arrayContaining(["planTypes", "roles"]));
});

test.each(named)("%s has the words and numbers of an enum in JSON", (_, table) => {
  const words = Object.entries(table).map(([word, number]) => [word.replace("-", "_"), number]);
  expect(contract).toContainEqual(words);
});

test("an enum word is the value's name in lower case, and roles have a hyphen", () => {
  expect(tables.planTypes.flat_fee).toBe(PlanType.FLAT_FEE);
  expect(Object.keys(adminTables.roles)).toEqual(["read-only", "admin", "owner"]);
});

test("an unset, unspecified or unknown enum value has no word", () => {
  expect(tables.wordOf(tables.planTypes, PlanType.TIERED)).toBe("tiered");
  for (const value of [undefined, PlanType.UNSPECIFIED, 99])
    expect(tables.wordOf(tables.planTypes, value)).toBeNull();
});
