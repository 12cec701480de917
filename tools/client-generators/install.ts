/**
 * Installs the generators of clients (`npm run clients`), those that can be had, and says why not
 * of the others. What is there is not installed again.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  generatorsFolder,
  goPrograms,
  mavenArtifact,
  npmPackages,
  places,
  pythonPackages,
  stampName,
} from "./places.ts";

/** A registry that answers nothing must not hold up a run. */
const installLimitMs = 600_000;

const folder = generatorsFolder();
mkdirSync(join(folder, "npm"), { recursive: true });
installNpm();
installPython();
installGo();
installJar();

function installNpm(): void {
  const wanted = Object.entries(npmPackages).map(([name, version]) => `${name}@${version}`);
  installOnce("openapi-typescript", join(folder, "npm"), wanted, () => {
    const into = join(folder, "npm");
    writeFileSync(join(into, "package.json"), '{ "private": true }\n');
    return run("npm", ["install", "--no-audit", "--no-fund", "--prefix", into, ...wanted]);
  });
}

function installPython(): void {
  const into = join(folder, "python");
  installOnce("openapi-python-client, grpcio", into, pythonPackages, () => {
    const pip = ["install", "--quiet", "--disable-pip-version-check", ...pythonPackages];
    return run("python3", ["-m", "venv", into]) ?? run(places.python("pip"), pip);
  });
}

function installGo(): void {
  for (const [name, source] of Object.entries(goPrograms)) {
    if (existsSync(places.go(name))) console.log(`${name}: there`);
    else report(name, run("go", ["install", source], { GOBIN: join(folder, "go/bin") }));
  }
}

function installJar(): void {
  if (existsSync(places.jar())) {
    console.log("openapi-generator: there");
    return;
  }
  const into = `-DoutputDirectory=${join(folder, "maven")}`;
  const copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy";
  report(
    "openapi-generator",
    run("mvn", ["-q", "-B", copy, `-Dartifact=${mavenArtifact.id}`, into]),
  );
}

/** Installs unless a stamp says that exactly these versions are in the folder. */
function installOnce(
  name: string,
  into: string,
  wanted: readonly string[],
  install: () => string | null,
): void {
  const stamp = join(into, stampName);
  const content = wanted.join("\n");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === content) {
    console.log(`${name}: there`);
    return;
  }
  const problem = install();
  if (problem === null) writeFileSync(stamp, content);
  report(name, problem);
}

/** Returns null, or why the program failed. */
function run(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): string | null {
  const options = { env: { ...process.env, ...env }, encoding: "utf8", timeout: installLimitMs };
  const ended = spawnSync(name, args, options as { encoding: "utf8" });
  if (ended.error) return ended.error.message;
  const output = `${ended.stdout}${ended.stderr}`;
  return ended.status === 0 ? null : output.trim().split("\n").slice(-3).join("\n");
}

function report(name: string, problem: string | null): void {
  console.log(`${name}: ${problem === null ? "installed" : `could not be installed: ${problem}`}`);
}
