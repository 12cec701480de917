/** The trial of deploy/compose.yaml names what exists, and its processes reach each other. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { type Config, readConfig } from "../../src/config.ts";
import { ledgers } from "../../src/ledger/index.ts";
import { programs } from "../../tools/build/programs.ts";
import { freePort } from "../support/ports.ts";
import { until } from "../support/until.ts";
import { deployed, deployFolder, imagePrograms, isSetting, ports } from "./deployed-names.ts";
import { tryTool } from "./tools.ts";

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly networks?: Readonly<Record<string, { readonly aliases: readonly string[] }>>;
  readonly network_mode?: string;
  readonly depends_on?: object;
  readonly read_only?: boolean;
  readonly stop_grace_period?: string;
}

const { services, volumes: kept } = parse(deployed("compose.yaml"), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: object;
};
const named = Object.entries(services);
const own = named.filter(
  ([, { image, entrypoint }]) => image.startsWith("subscription-billing") && !entrypoint,
);
const processes = own.filter(([, { command }]) => ["api", "worker"].includes(command?.[0] ?? ""));

/** The settings of a process as it reads them, with a secret key. */
function configOf({ command, environment = {} }: Service): Config {
  const env = Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, String(value)]),
  );
  const key = Buffer.alloc(32).toString("base64");
  const part = command?.[0] === "worker" ? "worker" : "api";
  return readConfig({ ...env, SECRET_KEY: key }, ledgers, part);
}

/** The ports on which a process of the service listens, reachable from other machines. */
function openPorts(service: Service): readonly number[] {
  if (service.command?.[0] === "demo-ledger")
    return [Number(service.environment?.DEMO_LEDGER_PORT ?? 0)];
  const { api, admin, worker, metrics } = configOf(service);
  const listening = service.command?.[0] === "worker" ? [worker] : [api, admin, metrics];
  return listening.flatMap((at) => (at?.host === "0.0.0.0" ? [at.port] : []));
}

/** The processes in the network of a machine. */
function onMachine(machine: string): readonly Service[] {
  return own.map(([, one]) => one).filter((one) => one.network_mode === `service:${machine}`);
}

test("the trial has two API processes, two workers and what they need", () => {
  expect(named.map(([name]) => name).sort()).toEqual([
    ...["api-1", "api-2", "demo-data", "demo-ledger", "demo-ledger-forward", "grafana"],
    ...["machine-1", "machine-2", "migrate", "postgres", "prometheus", "schedules", "temporal"],
    ...["temporal-ui", "worker-1", "worker-2"],
  ]);
});

test("the image's entry point starts every program of the build, and no other", () => {
  expect([...imagePrograms().values()].sort()).toEqual(Object.keys(programs).sort());
});

test("each process of the service runs a program of the image, on a read-only file system", () => {
  expect(own).toHaveLength(8);
  for (const [name, { command, read_only }] of own) {
    expect([...imagePrograms().keys()], name).toContain(command?.[0]);
    expect(read_only, name).toBe(true);
  }
});

test("each setting of a process is one that it reads, with a value that it takes", () => {
  const names = own.flatMap(([, { environment = {} }]) => Object.keys(environment));
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !isSetting(name))).toEqual([]);
  for (const [, one] of own.filter(([, { environment }]) => environment?.SECRET_KEY)) configOf(one);
});

test("each file that is mounted exists, and each service and volume that is named", () => {
  for (const [name, { volumes = [], depends_on = {}, network_mode = "" }] of named) {
    const sources = volumes.map((one) => one.split(":")[0] ?? "");
    const missing = sources.filter((source) =>
      source.startsWith(".") ? !existsSync(join(deployFolder, source)) : !(source in kept),
    );
    expect(missing, name).toEqual([]);
    const machine = network_mode.replace("service:", "");
    const others = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on);
    const used = machine === "" ? others : [...others, machine];
    expect(
      used.filter((one) => !(one in services)),
      name,
    ).toEqual([]);
  }
});

test("the processes start after the migration, the workers also after the schedules", () => {
  const completed = { condition: "service_completed_successfully" };
  for (const [name, { command, depends_on }] of processes)
    expect(depends_on, name).toEqual({
      migrate: completed,
      ...(command?.[0] === "worker" ? { schedules: completed } : {}),
    });
  expect(services.schedules?.depends_on).toMatchObject({ migrate: completed });
});

test("each published port is one on which a process of the machine listens", () => {
  for (const machine of ["machine-1", "machine-2"]) {
    const open = onMachine(machine).flatMap(openPorts);
    expect(open).toEqual(expect.arrayContaining(Object.values(ports)));
    expect(new Set(open).size).toBe(open.length);
    const published = (services[machine]?.ports ?? []).map((one) => one.split(":"));
    for (const [address, , port] of published) {
      expect(address).toBe("127.0.0.1");
      expect(open).toContain(Number(port));
    }
  }
});

test("each process is healthy by its own probe", () => {
  for (const [name, service] of processes) {
    const { port } = new URL(service.healthcheck?.test.at(-1) ?? "");
    expect(openPorts(service)[0], name).toBe(Number(port));
    expect(service.healthcheck?.test.at(-1), name).toMatch(/\/readyz$/);
  }
});

test("each process has the time to end before it is killed", () => {
  for (const [name, service] of processes) {
    const { api, ledger } = configOf(service);
    const isWorker = service.command?.[0] === "worker";
    const neededMs = isWorker ? 2 * ledger.callDeadlineMs : api.drainMs + api.shutdownMs;
    const graceMs = Number.parseInt(service.stop_grace_period ?? "10s", 10) * 1000;
    expect(graceMs, name).toBeGreaterThanOrEqual(neededMs + 10_000);
  }
});

test("Prometheus finds both processes of a kind by the names of its configuration", () => {
  expect(services.prometheus?.volumes).toContain("./prometheus:/etc/prometheus:ro");
  const { scrape_configs: jobs, rule_files: rules } = parse(deployed("prometheus/prometheus.yml"));
  expect(rules.filter((one: string) => !existsSync(join(deployFolder, "prometheus", one)))).toEqual(
    [],
  );
  expect(jobs).toHaveLength(2);
  for (const {
    dns_sd_configs: [{ names, port }],
  } of jobs) {
    const machines = named.filter(([, { networks }]) => {
      return networks?.default?.aliases.includes(names[0]);
    });
    expect(machines).toHaveLength(2);
    for (const [machine] of machines) expect(onMachine(machine).flatMap(openPorts)).toContain(port);
  }
});

test("Grafana reads the dashboards and the data source of deploy/grafana", () => {
  const mounted = services.grafana?.volumes ?? [];
  expect(mounted).toContain("./grafana/provisioning:/etc/grafana/provisioning:ro");
  const boards = parse(deployed("grafana/provisioning/dashboards/billing.yml"));
  const { path } = boards.providers[0].options;
  expect(mounted).toContain(`./grafana/dashboards:${path}:ro`);
  const sources = parse(deployed("grafana/provisioning/datasources/prometheus.yml"));
  const { hostname, port } = new URL(sources.datasources[0].url);
  expect(services[hostname]?.ports).toContain(`127.0.0.1:${port}:${port}`);
});

test("the second machine's address of the demo ledger leads to the first one's", async () => {
  const near = await freePort();
  const server = createServer((request, response) => response.end(request.headers["x-trial"]));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const far = (server.address() as AddressInfo).port;
  const [node, flag = "", script = ""] = services["demo-ledger-forward"]?.entrypoint ?? [];
  expect(node).toBe("node");
  const moved = script
    .replace("connect(8090", `connect(${far}`)
    .replace("listen(8090", `listen(${near}`);
  const child = spawn(process.execPath, [flag, moved, "127.0.0.1"], { stdio: "inherit" });
  const word = randomUUID();
  const ask = async () => {
    const answer = await fetch(`http://127.0.0.1:${near}/`, { headers: { "X-Trial": word } });
    return answer.text();
  };
  try {
    expect(await until("the forward listens", () => ask().catch(() => undefined))).toBe(word);
    expect(await ask()).toBe(word);
  } finally {
    child.kill();
    server.closeAllConnections();
    server.close();
  }
});

test("the Dockerfile installs what each package needs whose code is in the image", () => {
  const [before] = deployed("Dockerfile").split("RUN deploy/build-image.sh install");
  const root = join(deployFolder, "..");
  const context = readFileSync(join(root, ".dockerignore"), "utf8").split("\n");
  const withPackages = readdirSync(join(root, "packages")).filter((name) => {
    const path = join(root, "packages", name, "package.json");
    const { dependencies, devDependencies } = JSON.parse(readFileSync(path, "utf8"));
    const isBuilt = [`!packages/${name}`, `!packages/${name}/src`].some((line) => {
      return context.includes(line);
    });
    return isBuilt && (dependencies ?? devDependencies) !== undefined;
  });
  expect(withPackages).toContain("console");
  for (const name of withPackages)
    expect(before).toContain(`COPY packages/${name}/package.json packages/${name}/\n`);
});

test("hadolint finds nothing in the Dockerfile", () => {
  const ended = tryTool("hadolint", [join(deployFolder, "Dockerfile")], "The Dockerfile");
  if (ended !== null) expect(ended).toEqual({ status: 0, output: "" });
});
