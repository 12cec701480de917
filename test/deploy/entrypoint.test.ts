/** The entry point of the image, with a program that prints what it was started with. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { heapOptions } from "../../packages/dev/src/processes/children.ts";
import { deployFolder } from "./deployed-names.ts";

const folder = mkdtempSync(join(tmpdir(), "billing-entrypoint-"));

beforeAll(() => {
  copyFileSync(join(deployFolder, "entrypoint.sh"), join(folder, "entrypoint.sh"));
  mkdirSync(join(folder, "dist"));
  const printed = "[process.env.MALLOC_ARENA_MAX, process.argv[2], process.execArgv]";
  const print = `console.log(JSON.stringify(${printed}))`;
  writeFileSync(join(folder, "dist/worker.js"), print);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  { given: {}, arenas: "2" },
  { given: { MALLOC_ARENA_MAX: "" }, arenas: "2" },
  { given: { MALLOC_ARENA_MAX: "4" }, arenas: "4" },
])("a program has $arenas arenas of malloc, and the heap of npm start, with $given", ({
  given,
  arenas,
}) => {
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
  const ended = spawnSync("sh", [join(folder, "entrypoint.sh"), "worker", "word"], {
    env: { PATH, ...given },
    encoding: "utf8",
  });
  expect(ended).toMatchObject({ status: 0, stderr: "" });
  expect(JSON.parse(ended.stdout)).toEqual([arenas, "word", heapOptions]);
});
