/** The trial of deploy/compose.yaml names programs, folders and settings that exist. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { tryTool } from "./tools.ts";

const deploy = join(import.meta.dirname, "../../deploy");
const entrypoint = readFileSync(join(deploy, "entrypoint.sh"), "utf8");
const settingsPage = readFileSync(join(deploy, "../docs/configuration.md"), "utf8");

/** The folders of Prometheus and Grafana have tests of their content. */
const observed = /^\.\/(?:prometheus|grafana)(?:\/|$)/;

/** The settings of a worker's port, which is not described yet. */
const undescribed = ["WORKER_HOST", "WORKER_PORT"];

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: object;
  readonly read_only?: boolean;
}

const services = Object.entries(
  parse(readFileSync(join(deploy, "compose.yaml"), "utf8"), { merge: true }).services,
) as [string, Service][];
const own = services.filter(
  ([, { image, entrypoint: other }]) => image.startsWith("subscription-billing") && !other,
);

test("the trial has two API processes, two workers and what they need", () => {
  expect(services.map(([name]) => name).sort()).toEqual([
    ...["api-1", "api-2", "demo-data", "demo-ledger", "grafana", "machine", "migrate", "postgres"],
    ...["prometheus", "schedules", "temporal", "temporal-ui", "worker-1", "worker-2"],
  ]);
});

test("each process of the service runs a program of the image, on a read-only file system", () => {
  const programs = [...entrypoint.matchAll(/^ {2}([\w -]+(?: \| [\w-]+)*)\)/gm)]
    .flatMap(([, names = ""]) => names.split("|"))
    .map((name) => name.trim());
  expect(own).toHaveLength(8);
  for (const [name, { command, read_only }] of own) {
    expect(programs, name).toContain(command?.[0]);
    expect(read_only, name).toBe(true);
  }
});

test("each setting of a process is one that it reads", () => {
  const names = own.flatMap(([, { environment = {} }]) => Object.keys(environment));
  expect(names.length).toBeGreaterThan(10);
  const known = (name: string) => settingsPage.includes(`\`${name}\``);
  expect(names.filter((name) => !known(name) && !undescribed.includes(name))).toEqual([]);
});

test("each file that is mounted exists, and each service that is waited for", () => {
  const known = services.map(([name]) => name);
  for (const [name, { volumes = [], depends_on = {} }] of services) {
    const mounted = volumes.map((one) => one.split(":")[0] ?? "");
    const own = mounted.filter((path) => path.startsWith(".") && !observed.test(path));
    expect(own.filter((path) => !existsSync(join(deploy, path)), name)).toEqual([]);
    const awaited = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on);
    expect(awaited.filter((one) => !known.includes(one))).toEqual([]);
  }
});

test("hadolint finds nothing in the Dockerfile", () => {
  const ended = tryTool("hadolint", [join(deploy, "Dockerfile")], "The Dockerfile");
  if (ended !== null) expect(ended).toEqual({ status: 0, output: "" });
});
