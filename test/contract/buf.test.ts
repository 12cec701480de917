/** buf builds the contract after `npm run gen`, and before that its error names the command. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tryProgram } from "../../tools/run-program.ts";
import { layThirdPartyProtos } from "../../tools/third-party-protos.ts";

const root = join(import.meta.dirname, "../..");
let clone = "";

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), "buf-test-"));
  for (const path of ["proto", "buf.yaml", "buf.gen.yaml"])
    cpSync(join(root, path), join(clone, path), { recursive: true });
});

afterAll(() => rmSync(clone, { recursive: true, force: true }));

/** Runs the buf of this repository, which a clean clone does not have yet. */
const build = () => tryProgram(root, "buf", ["build", clone]);

test("buf build fails in a clean clone, names the command, and works after it", () => {
  const before = build();
  expect(before.status).not.toBe(0);
  expect(before.stderr.trim().split("\n")).toEqual([expect.stringContaining("npm-run-gen")]);
  cpSync(
    join(root, "node_modules/protobufjs/google"),
    join(clone, "node_modules/protobufjs/google"),
    {
      recursive: true,
    },
  );
  cpSync(
    join(root, "node_modules/grpc-health-check/proto"),
    join(clone, "node_modules/grpc-health-check/proto"),
    {
      recursive: true,
    },
  );
  layThirdPartyProtos(clone);
  expect(build()).toMatchObject({ status: 0, stderr: "" });
});
