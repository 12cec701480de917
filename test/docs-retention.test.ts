/** The table of retention in the documentation names every table, once. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const read = (path: string) => readFileSync(join(import.meta.dirname, "..", path), "utf8");

test("docs/operations/run.md states the retention of every table of the schema", () => {
  const tables = [...read("prisma/schema.prisma").matchAll(/^ {2}@@map\("(\w+)"\)/gm)].map(
    ([, name]) => name,
  );
  const page = read("docs/operations/run.md");
  const [, section = ""] = /^## Retention$([\s\S]*?)^## /m.exec(page) ?? [];
  const firstCells = [...section.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = ""]) => cell);
  const stated = firstCells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, one]) => one));
  expect(tables.length).toBeGreaterThan(40);
  expect(stated.toSorted()).toEqual(tables.toSorted());
});
