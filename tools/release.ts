/**
 * `npm run release`: makes everything of a release in `release/VERSION/`: the packages, the image
 * and the chart, the bill of materials, notes and checksums. `-- --publish` then publishes them.
 *
 * The version is that of package.json. The state of git must be committed, the changelog must have
 * a section of the version, and packages and chart must have it too. What the machine lacks the
 * programs for (`docker`, `helm`) is left out, and said.
 *
 * Publishing asks npm and docker for their credentials: `npm login` or NPM_TOKEN by an .npmrc, and
 * `docker login` with `--image REGISTRY/NAME`. Nothing is published before everything is made.
 */
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { toolsPath } from "./deploy-tools/places.ts";
import { releaseNotes, versionFaults } from "./release/versions.ts";
import { awaitProgram, runProgram, tryProgram } from "./run-program.ts";

const root = join(import.meta.dirname, "..");

const { values: options } = parseArgs({
  options: {
    publish: { type: "boolean", default: false },
    image: { type: "string", default: "subscription-billing" },
    // For a trial of this program.
    uncommitted: { type: "boolean", default: false },
  },
});

const version: string = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;
const folder = join(root, "release", version);
const image = `${options.image}:${version}`;

await main();

async function main(): Promise<void> {
  const faults = versionFaults(root, version);
  if (!options.uncommitted && String(runProgram(root, "git", ["status", "--porcelain"])) !== "")
    faults.push("git has changes that are not committed");
  if (faults.length > 0) {
    console.error(`Version ${version} cannot be released:\n- ${faults.join("\n- ")}`);
    process.exitCode = 1;
    return;
  }
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const packages = await packAll();
  const hasImage = await buildImage();
  await packageChart();
  copyFileSync(join(root, "dist/sbom.cdx.json"), join(folder, "sbom.cdx.json"));
  writeFileSync(join(folder, "NOTES.md"), releaseNotes(root, version));
  writeChecksums();
  console.log(readFileSync(join(folder, "SHA256SUMS"), "utf8").trimEnd());
  if (options.publish) await publish(packages, hasImage);
  else console.log(`Nothing was published. Look at ${folder}, then: npm run release -- --publish`);
}

/** Packs what npm publishes: the service, and the packages that are not private. */
async function packAll(): Promise<readonly string[]> {
  await awaitProgram(root, "npm", ["run", "--silent", "build"]);
  const isPublic = (name: string) => {
    const described = readFileSync(join(root, "packages", name, "package.json"), "utf8");
    return JSON.parse(described).private !== true;
  };
  const names = readdirSync(join(root, "packages")).filter(isPublic);
  for (const from of [".", ...names.map((name) => `./packages/${name}`)])
    await awaitProgram(root, "npm", ["pack", from, "--silent", "--pack-destination", folder]);
  return readdirSync(folder).filter((file) => file.endsWith(".tgz"));
}

async function buildImage(): Promise<boolean> {
  if (!isThere("docker", ["version"])) {
    console.log("The image is left out: there is no container engine.");
    return false;
  }
  await awaitProgram(root, "docker", ["build", "-f", "deploy/Dockerfile", "-t", image, "."]);
  await awaitProgram(root, "docker", ["save", "-o", join(folder, "image.tar"), image]);
  return true;
}

async function packageChart(): Promise<void> {
  const helm = [join(toolsPath(), "helm"), "helm"].find((name) => isThere(name, ["version"]));
  if (helm === undefined) console.log("The chart is left out: there is no helm.");
  else await awaitProgram(root, helm, ["package", "deploy/helm", "--destination", folder]);
}

/** Whether a program can be run, and what it needs answers. */
function isThere(program: string, args: readonly string[]): boolean {
  try {
    return tryProgram(root, program, args).status === 0;
  } catch {
    return false;
  }
}

function writeChecksums(): void {
  const lines = readdirSync(folder).map((file) => {
    const hash = createHash("sha256").update(readFileSync(join(folder, file)));
    return `${hash.digest("hex")}  ${file}\n`;
  });
  writeFileSync(join(folder, "SHA256SUMS"), lines.join(""));
}

async function publish(packages: readonly string[], hasImage: boolean): Promise<void> {
  // Asked before anything is published, so that no half of a release goes out.
  await awaitProgram(root, "npm", ["whoami"]);
  if (hasImage) await awaitProgram(root, "docker", ["push", image]);
  for (const file of packages) await awaitProgram(root, "npm", ["publish", join(folder, file)]);
  console.log(`Version ${version} is published.`);
}
