/** The cost of a run in the bundle of the workflows, and the places that its stacks name. */
import { createRequire, SourceMap } from "node:module";
import { expect, test } from "vitest";
import { bundle } from "./bundle.ts";

/** The part of the SDK that runs workflows in its threads. It has no exported name. */
const { ReusableVMWorkflowCreator } = createRequire(import.meta.url)(
  "../../node_modules/@temporalio/worker/lib/workflow/reusable-vm.js",
);

function mapOfBundle() {
  const [, base64 = ""] = /sourceMappingURL=data:[^,]*;base64,(\S+)/.exec(bundle) ?? [];
  return JSON.parse(Buffer.from(base64, "base64").toString());
}

test("a run loads no library of traces, and the thread's destructors stay writable", async () => {
  const filename = "/bundle.js";
  const thread = await ReusableVMWorkflowCreator.create(
    { code: bundle, sourceMap: mapOfBundle(), filename },
    10_000,
    new Set(),
  );
  const now = new Date();
  await thread.createWorkflow({
    info: {
      workflowId: "one",
      runId: "one",
      workflowType: "endpointDeliveries",
      unsafe: { isReplaying: false },
      startTime: now,
      runStartTime: now,
    },
    randomnessSeed: [1, 2, 3, 4],
    now: now.getTime(),
    showStackTraceSources: false,
  });
  const loaded: string[] = [...thread.context.__TEMPORAL_ACTIVATOR__.moduleCache.keys()];
  expect(loaded).toContain("./workflows/endpoint-deliveries.ts");
  expect(loaded.filter((name) => name.includes("/@opentelemetry/"))).toEqual([]);
  expect(Object.isFrozen(thread.context.__temporal_globalSandboxDestructors ?? [])).toBe(false);
});

test("stacks of the bundle name file and line of workflows and libraries", () => {
  const map = mapOfBundle();
  expect(map.sourcesContent).toBeUndefined();
  const origins = new SourceMap(map);
  const lines = bundle.split("\n");
  const originOf = (text: string) => {
    const line = lines.findIndex((one) => one.includes(text));
    const origin = origins.findOrigin(line + 1, (lines[line]?.indexOf(text) ?? 0) + 1);
    return "fileName" in origin ? origin.fileName : null;
  };
  expect(originOf("send the endpoint what is due")).toMatch(/workflows\/endpoint-deliveries\.ts$/);
  expect(originOf("Workflow execution context should have been disposed first")).toMatch(
    /@temporalio\/workflow\/src\/worker-interface\.ts$/,
  );
});
