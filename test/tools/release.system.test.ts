/** `npm run release` makes everything of a release, and publishes nothing by itself. */
import { createHash } from "node:crypto";
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanEnv, copySources, run } from "../build/installed-package.ts";
import { allow } from "../support/slowness.ts";

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "billing-release-"));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const made = join(folder, "release", version);

/** Runs the command in a copy of the sources, without an engine that would build the image. */
async function release(...args: readonly string[]): Promise<string> {
  const path = [dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter);
  return run(process.execPath, ["tools/run.js", "tools/release.ts", ...args], {
    cwd: folder,
    env: cleanEnv({ PATH: path, DOCKER_HOST: "unix:///nowhere" }),
  });
}

beforeAll(() => {
  copySources(folder);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const path of ["src/gen", ".proto-deps"])
    cpSync(join(root, path), join(folder, path), { recursive: true, preserveTimestamps: true });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test(
  "a release has packages, bill of materials, notes and checksums, and nothing is published",
  async () => {
    const output = await release("--uncommitted");
    expect(output).toContain("Nothing was published.");
    expect(output).toContain("The image is left out");
    const files = readdirSync(made);
    expect(files).toEqual(
      expect.arrayContaining([
        `subscription-billing-${version}.tgz`,
        `subscription-billing-cli-${version}.tgz`,
        `subscription-billing-client-${version}.tgz`,
        `subscription-billing-contract-${version}.tgz`,
        "sbom.cdx.json",
        "NOTES.md",
      ]),
    );
    expect(readFileSync(join(made, "NOTES.md"), "utf8")).toMatch(/^# .+ \d\S+\n\n.*For platforms/s);
    const sums = readFileSync(join(made, "SHA256SUMS"), "utf8").trimEnd().split("\n");
    expect(sums).toEqual(
      files
        .filter((file) => file !== "SHA256SUMS")
        .map((file) => {
          const hash = createHash("sha256").update(readFileSync(join(made, file)));
          return `${hash.digest("hex")}  ${file}`;
        }),
    );
  },
  allow(120_000),
);

test("a version that the changelog and the chart do not have is refused", async () => {
  const path = join(folder, "package.json");
  writeFileSync(
    path,
    readFileSync(path, "utf8").replace(`"version": "${version}"`, '"version": "9.9.9"'),
  );
  await expect(release("--uncommitted")).rejects.toThrow(
    /9\.9\.9 cannot be released:\n- deploy\/helm\/Chart.* has .*CHANGELOG\.md has no section 9/s,
  );
});
