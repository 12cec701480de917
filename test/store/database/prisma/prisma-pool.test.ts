/** What the pool of Prisma's adapter implements was read in one version of that adapter. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, test } from "vitest";

const require = createRequire(import.meta.url);

test("Prisma's adapter is of the version whose calls its pool implements", () => {
  const entry = require.resolve("@prisma/adapter-pg");
  const manifest = JSON.parse(readFileSync(new URL("../package.json", `file://${entry}`), "utf8"));
  expect(
    manifest.version,
    "read what the new version calls on a pool and a connection, mend prisma-pool.ts, then this",
  ).toBe("7.10.0");
});
