/**
 * The chart, rendered by Helm and validated against the schemas of Kubernetes, with the defaults
 * and with everything switched on.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { helm, renderChart, renderings } from "./rendered-chart.ts";
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
  ["a setting that it sets itself", { api: { settings: { DRAIN_SECONDS: 5 } } }],
])("the chart refuses %s", (_, values) => {
  const ended = helm(["template", "trial"], values);
  if (ended !== null) expect(ended.status).not.toBe(0);
});
