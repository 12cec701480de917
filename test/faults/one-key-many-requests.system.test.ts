/**
 * Many concurrent requests with one idempotency key, over two API processes: one subscription, one
 * document in the ledger. IDEMPOTENCY-2 to IDEMPOTENCY-4.
 */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { aloneTest } from "../scenario/fixtures.ts";
import { perFile, stopInTime } from "../support/file-fixture.ts";
import type { Answered, TestSystem } from "../support/system.ts";
import { expectOneDocumentEach, subscriptionPost } from "./ledger-documents.ts";
import {
  type ApiProcess,
  post,
  postUntilCreated,
  postUntilDecided,
  startApiProcess,
} from "./processes.ts";

const test = aloneTest
  .extend("settings", perFile, { env: { RATE_LIMIT_PER_MINUTE: "1000000" } })
  .extend("second", perFile, async ({ system }, { onCleanup }) => {
    const second = await startApiProcess(system, { RATE_LIMIT_PER_MINUTE: "1000000" });
    onCleanup(() => stopInTime(() => second.stop()));
    return second;
  });

/** The bodies differ in their units. */
const [units, otherUnits] = [10, 11];

/**
 * One trial: so many concurrent requests. In a mixed trial every second request has the other body,
 * and the first request wins. Returns a fault in words, or null if every answer is correct.
 */
async function trial(
  system: TestSystem,
  second: ApiProcess,
  organisation: CreatedOrganisation,
  name: string,
  width: number,
  isMixed: boolean,
): Promise<string | null> {
  const urls = [system.baseUrl, second.baseUrl];
  const answers = await Promise.all(
    Array.from({ length: width }, async (_, index) => {
      // Two processes and two bodies, each body at each process.
      const sent = isMixed && index % 2 === 1 ? otherUnits : units;
      const url = urls[(index >> 1) % 2] ?? "";
      const what = subscriptionPost(organisation, name, sent);
      const answer = await post(url, what);
      // With so many at once, a busy machine may not get a database connection in time: such a
      // request is repeated.
      const isUnheard = answer?.status === 500 || answer?.status === 502;
      return { sent, isUnheard, answer: isUnheard ? await postUntilDecided(url, what) : answer };
    }),
  );
  if (answers.some(({ answer }) => answer === null)) return `${name}: a connection broke`;
  const faults: string[] = [];
  const created = answers.filter(({ answer }) => answer?.status === 201);
  // Then the key was free once more, and who had it first need not be who has it in the end.
  const isDisturbed = answers.some(({ isUnheard }) => isUnheard);
  // If every first answer was `request_in_progress`, the repeat has the result.
  const winner = created[0]?.sent ?? null;
  for (const { sent, answer } of answers) {
    if (answer?.status === 201 && sent === winner) continue;
    const code = answer?.status === 409 ? answer.json.error.code : `status ${answer?.status}`;
    if (
      sent === winner &&
      code === "request_in_progress" &&
      answer?.headers.get("retry-after") === "2"
    )
      continue;
    if (sent !== winner && code === "idempotency_conflict") continue;
    if (isDisturbed && (code === "idempotency_conflict" || code === "request_in_progress"))
      continue;
    faults.push(`${name}: ${sent} units of ${winner}: ${code}`);
  }
  if (winner === null) return `${name}: no answer is 201`;
  const replay = await postUntilCreated(
    system.baseUrl,
    subscriptionPost(organisation, name, winner),
  );
  const bodies = new Set(
    [replay, ...created.map(({ answer }) => answer as Answered)].map(({ text }) => text),
  );
  if (bodies.size !== 1) faults.push(`${name}: ${bodies.size} different answers`);
  if (replay.headers.get("idempotent-replayed") !== "true")
    faults.push(`${name}: the repeat was not replayed`);
  return faults.length === 0 ? null : faults.join("; ");
}

/** So many requests a trial. A wide trial has as many pairs that race as dozens of narrow ones. */
interface Width {
  readonly width: number;
  readonly trials: number;
  readonly atOnce: number;
}

/** Runs all trials of a width, so many at a time. */
async function runTrials(
  system: TestSystem,
  second: ApiProcess,
  organisation: CreatedOrganisation,
  { width, trials, atOnce }: Width,
): Promise<(string | null)[]> {
  const names = Array.from({ length: trials }, (_, index) => `${width}-wide-${index}`);
  const faults: (string | null)[] = [];
  const runner = async (): Promise<void> => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      faults.push(await trial(system, second, organisation, name, width, names.length % 2 === 1));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runner));
  return faults;
}

test.for([
  { width: 2, trials: 80, atOnce: 24 },
  { width: 10, trials: 25, atOnce: 8 },
  { width: 100, trials: 6, atOnce: 2 },
])("$width concurrent requests with one key create one subscription", async (width, {
  system,
  second,
}) => {
  const organisation = await system.organisation();
  const faults = await runTrials(system, second, organisation, width);
  expect(faults).toHaveLength(width.trials);
  expect(faults.filter((fault) => fault !== null)).toEqual([]);
  await expectOneDocumentEach(system, organisation, width.trials);
});
