/**
 * Every program, setting, port, path and name that the chart uses is one of the code or of the
 * chart itself, and each process starts with the settings that the chart gives it.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { type Config, readConfig } from "../../src/config.ts";
import { ledgers } from "../../src/ledger/index.ts";
import { secretNames } from "../../src/main/settings/secret-files.ts";
import { readTemporalOnly } from "../../src/main/settings/temporal-settings.ts";
import { deployed, imagePrograms, isSetting, ports } from "./deployed-names.ts";
import { type Manifest, renderChart, renderings } from "./rendered-chart.ts";

const schema = JSON.parse(deployed("helm/values.schema.json"));

const folder = mkdtempSync(join(tmpdir(), "billing-secrets-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Values of the right form, as a Secret would have them. */
const key = Buffer.alloc(32).toString("base64");
const contents: Readonly<Record<string, string>> = {
  "database-url": "postgresql://billing@db.example/billing",
  "secret-key": key,
  "temporal-payload-key": key,
  "temporal-api-key": "token",
};

/** The environment of a container, with the mounted secrets as files of this machine. */
function environment(container: Manifest): Record<string, string> {
  const entries = container.env.map(({ name, value }: Record<string, string>) => {
    const path = value ?? "";
    const mounted = "/run/secrets/billing/";
    if (!path.startsWith(mounted)) return [name, path];
    const file = join(folder, path.slice(mounted.length));
    writeFileSync(file, contents[path.slice(mounted.length)] ?? "");
    return [name, file];
  });
  return Object.fromEntries(entries);
}

/** The settings as a process reads them. Certificates are not files here. */
function configOf(container: Manifest): Config {
  const { TLS_CERT_FILE: _cert, TLS_KEY_FILE: _key, ...env } = environment(container);
  return readConfig(env, ledgers, container.args[0] === "worker" ? "worker" : "api");
}

describe.each(renderings)("the chart with %s", (_, values) => {
  const rendered = renderChart(values) ?? [];
  const kinds = (kind: string) => rendered.filter((one) => one.kind === kind);
  const templates = [...kinds("Deployment"), ...kinds("Job")].map((one) => one.spec.template);
  const containers = templates.map(({ spec }) => spec.containers[0]);
  /** The templates of the pods that a selector selects. */
  const selected = (selector: Record<string, string>) =>
    templates.filter(({ metadata }) =>
      Object.entries(selector).every(([label, value]) => metadata.labels[label] === value),
    );
  const portNames = (selector: Record<string, string>): string[] =>
    selected(selector).flatMap(({ spec }) =>
      (spec.containers[0].ports ?? []).map(({ name }: { name: string }) => name),
    );

  test("runs programs of the image", () => {
    for (const { args } of containers) expect(imagePrograms().has(args[0]), args[0]).toBe(true);
  });

  test("sets each setting once, each is read, and secrets are files that are mounted", () => {
    for (const { spec } of templates) {
      const [{ env, volumeMounts }] = spec.containers;
      const names = env.map(({ name }: { name: string }) => name);
      expect(names.filter((name: string) => !isSetting(name))).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
      expect(names.filter((name: string) => secretNames(ledgers).includes(name))).toEqual([]);
      expect(names).toEqual(expect.arrayContaining(["DATABASE_URL_FILE", "SECRET_KEY_FILE"]));
      const volumes = spec.volumes.map(({ name }: { name: string }) => name);
      for (const { name, value } of env) {
        if (!name.endsWith("_FILE")) continue;
        const mount = volumeMounts.find((one: Manifest) => one.mountPath === dirname(value));
        expect(volumes, name).toContain(mount?.name);
      }
    }
  });

  test("gives each program settings with which it starts", () => {
    for (const container of containers) {
      if (container.args[0] === "schedules") readTemporalOnly(environment(container));
      else expect(configOf(container).database.url).toBe(contents["database-url"]);
    }
  });

  test("opens the ports on which the processes listen, to other machines", () => {
    for (const container of containers.filter((one) => one.ports !== undefined)) {
      const { api, admin, worker, metrics } = configOf(container);
      const listening =
        container.args[0] === "worker" ? { health: worker } : { public: api, admin, metrics };
      expect(container.ports).toEqual(
        Object.entries(listening).map(([name, at]) => ({ name, containerPort: at?.port })),
      );
      for (const at of Object.values(listening)) expect(at?.host).toBe("0.0.0.0");
      for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"])
        expect(container[probe].httpGet.port).toBe(container.ports[0].name);
      expect(container.livenessProbe.httpGet.path).toBe("/healthz");
      expect(container.readinessProbe.httpGet.path).toBe("/readyz");
    }
  });

  test("has services, policies and a monitor for ports that the pods have", () => {
    for (const { spec, metadata } of kinds("Service"))
      for (const { targetPort } of spec.ports)
        expect(portNames(spec.selector), metadata.name).toContain(targetPort);
    for (const { spec } of kinds("NetworkPolicy")) {
      expect(selected(spec.podSelector.matchLabels).length).toBe(1);
      for (const { port } of (spec.ingress ?? []).flatMap(({ ports: all }: Manifest) => all))
        expect(portNames(spec.podSelector.matchLabels)).toContain(port);
    }
    const metrics = kinds("Service").filter(
      ({ metadata }) => metadata.labels["billing/metrics"] !== undefined,
    );
    for (const { spec } of kinds("ServiceMonitor")) {
      expect(metrics.map((one) => one.spec.ports[0].port)).toEqual([ports.metrics, ports.worker]);
      for (const endpoint of spec.endpoints)
        for (const one of metrics)
          expect(one.spec.ports.map(({ name }: Manifest) => name)).toContain(endpoint.port);
    }
  });

  test("gives each process the time to end before it is killed", () => {
    for (const { spec } of kinds("Deployment").map((one) => one.spec.template)) {
      const { api, ledger } = configOf(spec.containers[0]);
      const isWorker = spec.containers[0].args[0] === "worker";
      // A worker ends a ledger call and one look-up.
      const neededMs = isWorker ? 2 * ledger.callDeadlineMs : api.drainMs + api.shutdownMs;
      expect(spec.terminationGracePeriodSeconds * 1000).toBeGreaterThanOrEqual(neededMs + 10_000);
    }
  });
});

test("the chart takes the secrets that the code can read from files, and no other", () => {
  const { enum: names } = schema.properties.secrets.properties.settings.propertyNames;
  expect([...names].sort()).toEqual([...secretNames(ledgers)].sort());
  const refused = schema.definitions.settings.propertyNames.not.enum;
  expect(refused).toEqual(expect.arrayContaining(names));
  expect(refused.filter((name: string) => !isSetting(name))).toEqual([]);
});

test("the chart's ports are those of the image and of Prometheus' configuration", () => {
  const { api, worker } = parse(deployed("helm/values.yaml"));
  expect([api.port, api.adminPort, worker.port, api.metricsPort]).toEqual(Object.values(ports));
  expect(deployed("Dockerfile")).toContain(`EXPOSE ${Object.values(ports).join(" ")}\n`);
  const { scrape_configs: jobs } = parse(deployed("prometheus/prometheus.yml"));
  expect(jobs.map((job: Manifest) => job.dns_sd_configs[0].port)).toEqual([
    ports.metrics,
    ports.worker,
  ]);
});

test("the notes of the chart name a program of the image", () => {
  const [, word = ""] =
    /\/app\/entrypoint\.sh (\S+)/.exec(deployed("helm/templates/NOTES.txt")) ?? [];
  expect([...imagePrograms().keys()]).toContain(word);
  expect(deployed("Dockerfile")).toContain('ENTRYPOINT ["/app/entrypoint.sh"]');
});
