/**
 * The chart, rendered by Helm and validated against the schemas of Kubernetes, with the defaults
 * and with everything switched on.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { tryTool } from "./tools.ts";

const chart = join(import.meta.dirname, "../../deploy/helm");
const folder = mkdtempSync(join(tmpdir(), "billing-chart-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A Helm that Go installed takes an old one for the cluster's. */
const version = ["--kube-version", "1.33.0"];

const everything = {
  image: { digest: `sha256:${"a".repeat(64)}` },
  imagePullSecrets: [{ name: "registry" }],
  secrets: {
    name: "billing-secrets",
    settings: {
      DATABASE_URL: "database-url",
      SECRET_KEY: "secret-key",
      TEMPORAL_API_KEY: "temporal-api-key",
    },
  },
  api: {
    tlsSecret: "billing-tls",
    shutdownSeconds: 30,
    settings: { TRUSTED_PROXIES: "10.0.0.0/8" },
    autoscaling: { enabled: true },
    podAnnotations: { team: "billing" },
    nodeSelector: { pool: "services" },
    tolerations: [{ key: "services", operator: "Exists" }],
  },
  worker: { autoscaling: { enabled: true, backlog: { enabled: true } } },
  networkPolicy: {
    apiFrom: [{ podSelector: { matchLabels: { app: "gateway" } } }],
    adminFrom: [{ podSelector: { matchLabels: { app: "console" } } }],
  },
  serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
};

const renderings = [
  ["the defaults", {}],
  ["everything switched on", everything],
] as const;

/** Manifests have every shape. */
type Manifest = ReturnType<typeof JSON.parse>;

/** Renders the chart, or returns null if there is no Helm. */
function render(values: object): { readonly text: string; readonly all: Manifest[] } | null {
  const file = join(folder, "values.yaml");
  writeFileSync(file, stringify(values));
  const lint = tryTool("helm", ["lint", "--strict", ...version, chart, "-f", file], "The chart");
  if (lint === null) return null;
  expect(lint).toMatchObject({ status: 0 });
  const ended = tryTool("helm", ["template", "trial", ...version, chart, "-f", file], "The chart");
  expect(ended?.status, ended?.output).toBe(0);
  const text = ended?.output ?? "";
  return { text, all: parseAllDocuments(text).map((one) => one.toJS() as Manifest) };
}

describe.each(renderings)("the chart with %s", (_, values) => {
  const rendered = render(values);
  const all = (rendered?.all ?? []).filter((one) => one !== null);
  const kinds = (kind: string) => all.filter((one) => one.kind === kind);
  const pods = [...kinds("Deployment"), ...kinds("Job")].map((one) => one.spec.template.spec);

  test("has manifests that Kubernetes takes", () => {
    if (rendered === null) return;
    // Its schema is of another project.
    const own = all.filter((one) => one.kind !== "ServiceMonitor");
    const file = join(folder, "manifests.yaml");
    writeFileSync(file, own.map((one) => `---\n${stringify(one)}`).join(""));
    const ended = tryTool("kubernetes-validate", ["--strict", file], "The chart's manifests");
    if (ended !== null) expect(ended).toMatchObject({ status: 0 });
  });

  test("runs every process without root, on a file system that it cannot write", () => {
    for (const pod of pods) {
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 10_001 });
      expect(pod.automountServiceAccountToken).toBe(false);
      for (const container of pod.containers)
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
    }
    expect(pods).toHaveLength(rendered === null ? 0 : 4);
  });

  test("hands secrets over as files, and names no setting twice", () => {
    for (const pod of pods) {
      const names = pod.containers[0].env.map(({ name }: { name: string }) => name);
      expect(names).toEqual(expect.arrayContaining(["DATABASE_URL_FILE", "SECRET_KEY_FILE"]));
      expect(new Set(names).size).toBe(names.length);
      expect(names).not.toContain("DATABASE_URL");
    }
  });

  test("opens the admin port and the workers' port to named peers only", () => {
    const rules = kinds("NetworkPolicy").flatMap(({ spec }) => spec.ingress ?? []);
    for (const { ports, from } of rules)
      if (ports.some(({ port }: { port: string }) => port !== "public"))
        expect(from.length).toBeGreaterThan(0);
    expect(kinds("Service").filter(({ spec }) => spec.type === "LoadBalancer")).toEqual([]);
  });

  test("gives an API process the time to drain before it is killed", () => {
    for (const { spec } of kinds("Deployment").map((one) => one.spec.template)) {
      const env = Object.fromEntries(
        spec.containers[0].env.map(({ name, value }: Record<string, string>) => [name, value]),
      );
      const drain = Number(env.DRAIN_SECONDS ?? 0) + Number(env.SHUTDOWN_SECONDS ?? 0);
      expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(drain);
    }
  });
});

test("the chart refuses values that it does not know, and settings that it sets itself", () => {
  const secret = { settings: { SECRET_KEY: "abc" } };
  const twice = { api: { settings: { DRAIN_SECONDS: 5 } } };
  for (const values of [{ replicas: 2 }, secret, twice]) {
    const file = join(folder, "wrong.yaml");
    writeFileSync(file, stringify(values));
    const ended = tryTool(
      "helm",
      ["template", "trial", ...version, chart, "-f", file],
      "The values' schema",
    );
    if (ended !== null) expect(ended.status).not.toBe(0);
  }
});
