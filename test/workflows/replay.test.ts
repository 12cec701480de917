/**
 * Histories of earlier runs replay with the current workflows: what runs in a production cluster
 * continues after a deployment. `RECORD_HISTORIES=1 npx vitest run
 * test/workflows/{settlement,amendment,end,billing,clock,mirror,telling,webhook}-runs` records new
 * ones.
 */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { bundle } from "./bundle.ts";
import { replayFailure } from "./replay.ts";

const folder = new URL("../histories/", import.meta.url);
const names = readdirSync(folder).filter((name) => name.endsWith(".json"));

function historyOf(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, folder), "utf8"));
}

/** The first activity of each type of workflow, as the bundle has it. */
const firstRounds: Readonly<Record<string, string>> = {
  ledgerPosting: "const round = await postBatch(input);",
  invoiceAmendment: "const round = await work(input);",
  creditAllocation: "const round = await work(input);",
  endSubscription: "const round = await work(input);",
  billingRun: "const round = await startDue(input);",
  organisationBilling: "const round = await billBatch(order);",
  ledgerSyncStarts: "const round = await startMirrors(input);",
  ledgerSync: "const round = await work(input);",
  testClock: "const round = await advanceBatch(order);",
  changeScan: "const round = await startChanged(input);",
  organisationEvents: "const round = await publishBatch(input);",
  endpointDeliveries: "const batches = await deliverDue(endpoint);",
};

function typeOf(name: string): string {
  const [started] = (
    historyOf(name) as {
      events: { workflowExecutionStartedEventAttributes: { workflowType: { name: string } } }[];
    }
  ).events;
  return started?.workflowExecutionStartedEventAttributes.workflowType.name ?? "";
}

test("every workflow type has a history", () => {
  const index = readFileSync(new URL("../../workflows/index.ts", import.meta.url), "utf8");
  const types = [...index.matchAll(/^export \{ ([^}]+) \} from/gm)].flatMap(([, list = ""]) =>
    list.split(", "),
  );
  expect(types.length).toBeGreaterThanOrEqual(9);
  expect([...new Set(names.map(typeOf))].sort()).toEqual(types.sort());
});

test("every workflow has a plain run, and those that post also a refusal or a pause", () => {
  const kept = [
    "settlement.json",
    "refusal.json",
    "pause.json",
    "high-volume.json",
    "amendment.json",
    "amendment-pause.json",
    "credit.json",
    "end.json",
    "end-refused.json",
    "end-pause.json",
    "billing-run.json",
    "billing.json",
    "billing-set-aside.json",
    "clock.json",
    "ledger-sweep.json",
    "mirror.json",
    "mirror-waits.json",
    "change-scan.json",
    "telling.json",
    "deliveries.json",
    "deliveries-exhausted.json",
  ];
  expect(names).toEqual(expect.arrayContaining(kept));
});

test.each(names)("%s replays", async (name) => {
  expect(await replayFailure(bundle, historyOf(name))).toBeNull();
});

test.each(names)("%s does not replay with a workflow that was changed", async (name) => {
  const round = firstRounds[typeOf(name)] ?? "";
  expect(round).not.toBe("");
  expect(bundle).toContain(round);
  const changed = bundle.replace(
    round,
    round.replace(/^.*await (.+);$/, "void $1.catch(() => 0);").concat(round),
  );
  expect(await replayFailure(changed, historyOf(name))).toMatch(
    /DeterminismViolation|Nondeterminism/i,
  );
});
