/**
 * Histories of earlier runs replay with today's workflows: what runs in a production cluster goes on after a deployment.
 * `RECORD_HISTORIES=1 npx vitest run test/workflows/settlement-runs` records new ones.
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

test("a plain settlement, a refusal and a pause are kept", () => {
  expect(names).toEqual(expect.arrayContaining(["settlement.json", "refusal.json", "pause.json"]));
});

test.each(names)("%s replays", async (name) => {
  expect(await replayFailure(bundle, historyOf(name))).toBeNull();
});

test.each(names)("%s does not replay with a workflow that was changed", async (name) => {
  const round = "const round = await settleRound(input);";
  expect(bundle).toContain(round);
  const changed = bundle.replace(round, `await settleRound(input); ${round}`);
  expect(await replayFailure(changed, historyOf(name))).toMatch(/DeterminismViolation|Nondeterminism/i);
});
