/** The chart of deploy/helm as Helm renders it: with the defaults, and with everything on. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { type ToolResult, tryTool } from "./tools.ts";

const chart = join(import.meta.dirname, "../../deploy/helm");

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
      TEMPORAL_PAYLOAD_KEY: "temporal-payload-key",
    },
  },
  api: {
    tlsSecret: "billing-tls",
    shutdownSeconds: 30,
    trustedProxies: "10.0.0.0/8",
    autoscaling: { enabled: true },
    podAnnotations: { team: "billing" },
    nodeSelector: { pool: "services" },
    tolerations: [{ key: "services", operator: "Exists" }],
  },
  worker: { autoscaling: { enabled: true, backlog: { enabled: true } } },
  networkPolicy: {
    apiFrom: [{ podSelector: { matchLabels: { app: "gateway" } } }],
    adminFrom: [{ podSelector: { matchLabels: { app: "console" } } }],
    egress: {
      dns: { to: [{ namespaceSelector: {} }] },
      database: { ports: [5432, 6432], to: [{ ipBlock: { cidr: "10.1.0.0/16" } }] },
      extra: [{ ports: [{ protocol: "TCP", port: 4318 }] }],
    },
  },
  serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
};

/** The values by which the chart is rendered, with their names for titles. */
export const renderings = [
  ["the defaults", {}],
  ["everything switched on", everything],
] as const;

/** Manifests have every shape. */
export type Manifest = ReturnType<typeof JSON.parse>;

/** Runs Helm on the chart with these values. Returns null if there is no Helm. */
export function helm(command: readonly string[], values: object): ToolResult | null {
  const folder = mkdtempSync(join(tmpdir(), "billing-chart-"));
  try {
    const file = join(folder, "values.yaml");
    writeFileSync(file, stringify(values));
    return tryTool("helm", [...command, ...version, chart, "-f", file], "The chart");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the manifests of the chart, or null if there is no Helm. */
export function renderChart(values: object): readonly Manifest[] | null {
  const ended = helm(["template", "trial"], values);
  if (ended === null) return null;
  expect(ended.status, ended.output).toBe(0);
  const all = parseAllDocuments(ended.output).map((one) => one.toJS() as Manifest);
  return all.filter((one) => one !== null);
}
