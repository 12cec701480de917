/** The lists of crash points are those of the service. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as lists from "./crash-points.ts";

const src = join(import.meta.dirname, "../../src");

test("each crash point of the service is in a list, and each of a list in the service", () => {
  const paths = readdirSync(src, { recursive: true, encoding: "utf8" });
  const code = paths.filter((path) => path.endsWith(".ts") && !path.startsWith("gen/"));
  const called = code.flatMap((path) =>
    [...readFileSync(join(src, path), "utf8").matchAll(/\bcrashPoint\("(\w+)"\)/g)].map(
      ([, name]) => name,
    ),
  );
  expect([...new Set(called)].sort()).toEqual([...new Set(Object.values(lists).flat())].sort());
});
