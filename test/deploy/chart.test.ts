/**
 * The chart, rendered by Helm and validated against the schemas of Kubernetes, with the defaults
 * and with everything switched on.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { helm, type Manifest, renderChart, renderings } from "./rendered-chart.ts";
import { tryTool } from "./tools.ts";

describe.each(renderings)("the chart with %s", (_, values) => {
  const rendered = renderChart(values);
  const all = rendered ?? [];
  const kinds = (kind: string) => all.filter((one) => one.kind === kind);
  const pods = [...kinds("Deployment"), ...kinds("Job")].map((one) => one.spec.template.spec);

  test("has manifests that Kubernetes takes", () => {
    if (rendered === null) return;
    expect(helm(["lint", "--strict"], values)).toMatchObject({ status: 0 });
    // Its schema is of another project.
    const own = all.filter((one) => one.kind !== "ServiceMonitor");
    const folder = mkdtempSync(join(tmpdir(), "billing-manifests-"));
    const file = join(folder, "manifests.yaml");
    writeFileSync(file, own.map((one) => `---\n${stringify(one)}`).join(""));
    const ended = tryTool("kubernetes-validate", ["--strict", file], "The chart's manifests");
    rmSync(folder, { recursive: true, force: true });
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

  test("lets no peer of the metrics reach the admin port", () => {
    const peersOf = (wanted: string): readonly string[] =>
      kinds("NetworkPolicy")
        .flatMap(({ spec }) => spec.ingress ?? [])
        .filter(({ ports }) => ports.some(({ port }: { port: string }) => port === wanted))
        .flatMap(({ from }) => from.map((peer: object) => JSON.stringify(peer)));
    const [admin, metrics] = [peersOf("admin"), peersOf("metrics")];
    expect(metrics).toHaveLength(rendered === null ? 0 : 1);
    expect(admin.filter((peer) => metrics.includes(peer))).toEqual([]);
  });

  test("lets the pods reach DNS, database, Temporal, and https in the public network", () => {
    for (const { spec } of kinds("NetworkPolicy")) {
      expect(spec.policyTypes).toEqual(["Ingress", "Egress"]);
      const ports = spec.egress.map((rule: Manifest) =>
        rule.ports.map(({ protocol, port }: Manifest) => `${protocol} ${port}`).join(" "),
      );
      expect(ports.slice(0, 4)).toEqual([
        "UDP 53 TCP 53",
        expect.stringMatching(/^TCP 5432/),
        "TCP 7233",
        "TCP 443",
      ]);
      const { to } = spec.egress[3];
      expect(to[0].ipBlock.except).toContain("169.254.0.0/16");
    }
  });

  test("bounds what a pod can write", () => {
    const written = pods.flatMap(({ volumes }) => volumes.filter((one: Manifest) => one.emptyDir));
    expect(written).toHaveLength(pods.length);
    for (const { emptyDir } of written) expect(emptyDir).toEqual({ sizeLimit: "64Mi" });
  });

  test("names the trusted proxies only if it has them", () => {
    const named = pods.flatMap(({ containers: [{ env }] }) =>
      env.filter(({ name }: Manifest) => name === "TRUSTED_PROXIES"),
    );
    const { trustedProxies } = (values as { api?: { trustedProxies?: string } }).api ?? {};
    const wanted = trustedProxies && rendered ? [trustedProxies] : [];
    expect(named.map(({ value }) => value)).toEqual(wanted);
  });

  test("opens the admin port and the workers' port to named peers only", () => {
    const rules = kinds("NetworkPolicy").flatMap(({ spec }) => spec.ingress ?? []);
    for (const { ports, from } of rules)
      if (ports.some(({ port }: { port: string }) => port !== "public"))
        expect(from.length).toBeGreaterThan(0);
    expect(kinds("Service").filter(({ spec }) => spec.type === "LoadBalancer")).toEqual([]);
  });

  test("migrates before it sets the schedules up, and both before the processes", () => {
    const hooks = kinds("Job").map(({ metadata: { annotations }, spec }) => [
      spec.template.spec.containers[0].args[0],
      annotations["helm.sh/hook"],
      Number(annotations["helm.sh/hook-weight"]),
    ]);
    const when = "pre-install,pre-upgrade";
    const wanted = [
      ["migrate", when, 0],
      ["schedules", when, 1],
    ];
    expect(hooks).toEqual(rendered === null ? [] : wanted);
  });
});

test.each([
  ["a value that it does not know", { replicas: 2 }],
  ["a secret's name that no Secret can have", { secrets: { settings: { SECRET_KEY: "a/b" } } }],
  ["a secret that no program reads", { secrets: { settings: { SECRET_KEI: "key" } } }],
  ["a secret among the settings", { settings: { TEMPORAL_API_KEY: "abc" } }],
  ["a size of /tmp without a unit", { tmpSize: "64" }],
  ["a destination without a port", { networkPolicy: { egress: { https: { ports: [] } } } }],
  ["a setting that it sets itself", { api: { settings: { DRAIN_SECONDS: 5 } } }],
])("the chart refuses %s", (_, values) => {
  const ended = helm(["template", "trial"], values);
  if (ended !== null) expect(ended.status).not.toBe(0);
});
