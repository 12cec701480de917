/**
 * Histories of earlier runs replay with today's workflows, so that a run in a production cluster
 * continues after a deployment.
 * `RECORD_HISTORIES=1 npx vitest run` with the paths of
 * `test/workflows/{posting,amendment,end,billing,clock,ledger-sync,publishing,webhook}-runs`
 * records new ones.
 */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { dataConverterOf } from "../../src/worker/temporal/connect.ts";
import { bundle } from "./bundle.ts";
import { replayFailures } from "./replay.ts";

const folder = new URL("../histories/", import.meta.url);
const names = readdirSync(folder).filter((name) => name.endsWith(".json"));

function historyOf(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, folder), "utf8"));
}

/** The first activity of each type of workflow, as the bundle has it. */
const firstBatches: Readonly<Record<string, string>> = {
  ledgerPosting: "const batch = await postBatch(input);",
  invoiceAmendment: "const batch = await work(input);",
  creditAllocation: "const batch = await work(input);",
  endSubscription: "const batch = await work(input);",
  billingRun: "const page = await start(input);",
  organisationBilling: "const batch = await billBatch(order);",
  ledgerSync: "const batch = await work(input);",
  testClock: "const batch = await advanceBatch(order);",
  organisationEvents: "const batch = await publishBatch(input);",
  endpointDeliveries: "const batch = await deliverDue(endpoint);",
};

function typeOf(name: string): string {
  const [started] = (
    historyOf(name) as {
      events: { workflowExecutionStartedEventAttributes: { workflowType: { name: string } } }[];
    }
  ).events;
  return started?.workflowExecutionStartedEventAttributes.workflowType.name ?? "";
}

function firstBatchOf(name: string): string {
  return firstBatches[typeOf(name)] ?? "";
}

test("every workflow type has a recorded history", () => {
  const index = readFileSync(new URL("../../workflows/index.ts", import.meta.url), "utf8");
  const types = [...index.matchAll(/^export \{([^}]+)\} from/gm)].flatMap(
    ([, list = ""]) => list.match(/\w+/g) ?? [],
  );
  expect(types.length).toBeGreaterThanOrEqual(9);
  expect([...new Set(names.map(typeOf))].sort()).toEqual(types.sort());
});

test("each workflow has a recorded plain run, and posting also a refusal and a pause", () => {
  const recorded = [
    "posting.json",
    "refusal.json",
    "pause.json",
    "high-volume.json",
    "amendment.json",
    "amendment-pause.json",
    "credit.json",
    "end.json",
    "end-refused.json",
    "end-pause.json",
    "minute.json",
    "minute-failed.json",
    "billing.json",
    "billing-parked.json",
    "clock.json",
    "ledger-sync.json",
    "ledger-sync-waits.json",
    "publishing.json",
    "deliveries.json",
    "deliveries-exhausted.json",
  ];
  expect(names).toEqual(expect.arrayContaining(recorded));
});

function historiesOf(chosen: readonly string[]): ReadonlyMap<string, unknown> {
  return new Map(chosen.map((name) => [name, historyOf(name)]));
}

/** Calls it once, for all tests that share its result. */
function once<T>(run: () => T): () => T {
  let result: { readonly is: T } | undefined;
  return () => {
    result ??= { is: run() };
    return result.is;
  };
}

const replayed = once(() => replayFailures(bundle, historiesOf(names)));

test.each(names)("%s replays", async (name) => {
  expect((await replayed()).get(name)).toBeNull();
});

const replayedWithKey = once(() => {
  const keys = dataConverterOf({ payloadKey: Buffer.alloc(32, 7), payloadKeysBefore: [] });
  return replayFailures(bundle, historiesOf(names), keys);
});

test.each(names)("%s, recorded without a payload key, replays with one", async (name) => {
  expect((await replayedWithKey()).get(name)).toBeNull();
});

/** The replays of all histories with this first activity, by a bundle that calls it once more. */
const replayedAfterChange = new Map(
  [...new Set(Object.values(firstBatches))].map((first) => [
    first,
    once(() => {
      const changed = bundle.replace(
        first,
        first.replace(/^.*await (.+);$/, "void $1.catch(() => 0);").concat(first),
      );
      const own = names.filter((name) => firstBatchOf(name) === first);
      return replayFailures(changed, historiesOf(own));
    }),
  ]),
);

test.each(names)("%s does not replay with a workflow that was changed", async (name) => {
  const first = firstBatchOf(name);
  expect(first).not.toBe("");
  expect(bundle).toContain(first);
  const failures = await replayedAfterChange.get(first)?.();
  expect(failures?.get(name)).toMatch(/DeterminismViolation|Nondeterminism/i);
});
