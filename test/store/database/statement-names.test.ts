/**
 * A connection knows a prepared statement by its name. A second text under that name would fail on
 * a connection that prepared the first one.
 */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const folder = new URL("../../../src/store/", import.meta.url).pathname;

test("no two statements of the store have one name", () => {
  const files = globSync("**/*.ts", { cwd: folder });
  const names = files.flatMap((file) =>
    [...readFileSync(`${folder}${file}`, "utf8").matchAll(/name: "([a-z_0-9]+)",\s*text\b/g)].map(
      ([, name]) => name,
    ),
  );
  expect(names.length).toBeGreaterThan(50);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
