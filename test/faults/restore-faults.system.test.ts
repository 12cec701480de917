/**
 * SIGKILL between every two steps of a restoration, concurrent restorations, restorations against
 * ends, and a ledger that loses requests and answers: what an end removed is issued again once, and
 * the ledger has the same documents. RESTORE-3, IDEMPOTENCY-2.
 */
import { describe, expect } from "vitest";
import { refusalOf, refused } from "../scenario/checked-ask.ts";
import { aloneTest } from "../scenario/fixtures.ts";
import { restoreCrashPoints } from "../support/crash-points.ts";
import { perFile } from "../support/file-fixture.ts";
import { freePort } from "../support/ports.ts";
import { countJobs, newestJob, tables } from "../support/rows.ts";
import { type Answered, type TestSystem, until } from "../support/system.ts";
import { type Endable, endPost } from "./ends-builder.ts";
import {
  dieOf,
  type Post,
  post,
  postUntilDecided,
  promptAnswerMs,
  startApiProcess,
} from "./processes.ts";

const test = aloneTest
  /**
   * The answers of several concurrent requests over both API processes. If the ledger takes longer
   * than an answer, as on a busy machine, the request is repeated until it has its outcome.
   */
  .extend(
    "atOnce",
    perFile,
    ({ system, second }) =>
      async (requests: readonly Post[]): Promise<readonly Answered[]> => {
        const ask = async (url: string, one: Post): Promise<Answered> => {
          const answer = await post(url, one);
          if (answer === null) throw new Error("no answer");
          return answer.status === 502 ? postUntilDecided(url, one) : answer;
        };
        const urls = [system.baseUrl, second.baseUrl];
        return Promise.all(requests.map((one, index) => ask(urls[index % 2] ?? "", one)));
      },
  )
  /** A subscription that has ended, with three invoices removed. */
  .extend("endedWithThree", perFile, ({ ends, builder }) => async (): Promise<Endable> => {
    const endable = await ends.withThree();
    await builder.ended(endable.own, endable.id, endPost(endable, "").body);
    expect(await builder.standing(endable.own, endable.id)).toEqual([]);
    return endable;
  })
  /**
   * Asserts that it was restored once, with each of its three invoices issued again once, and that
   * the ledger has the same.
   */
  .extend(
    "expectRestoredOnce",
    perFile,
    ({ system, builder }) =>
      async ({ own, id }: Endable): Promise<void> => {
        await builder.expectEqualDocuments(own);
        expect(await builder.subscription(own, id)).toMatchObject({
          status: "active",
          end_date: null,
        });
        const standing = await builder.standing(own, id);
        expect(standing.map(([name]) => name)).toEqual([
          "INV-0004 first",
          "INV-0005 change",
          "INV-0006 renewal",
        ]);
        expect(await builder.invoices(own, id)).toHaveLength(6);
        const where = { subscriptionId: id };
        expect(await tables(system.pool).restoration.count({ where })).toBe(1);
      },
  );

const conflict = refused(409, "invalid_state");

/** A restoration. */
function restorePost({ own, id }: Endable, idempotencyKey: string): Post {
  return { path: `/v1/subscriptions/${id}/restore`, key: own.apiKey, idempotencyKey, body: {} };
}

/** The first answer that is decided, and a later one: the same bytes, marked as a replay. */
async function retried(system: TestSystem, endable: Endable): Promise<void> {
  const restored = await postUntilDecided(system.baseUrl, restorePost(endable, "the-key"));
  expect([restored.status, restored.json.status], restored.text).toEqual([200, "active"]);
  const again = await postUntilDecided(system.baseUrl, restorePost(endable, "the-key"));
  expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([restored.text, "true"]);
}

const ofWorker = restoreCrashPoints.filter((point) => point.startsWith("posting_"));
const ofApi = restoreCrashPoints.filter((point) => !ofWorker.includes(point));

describe.concurrent("an API killed in a restoration leaves a usable key and restores once:", () => {
  test.for(ofApi)("%s", async (point, { system, endedWithThree, expectRestoredOnce }) => {
    const endable = await endedWithThree();
    await dieOf(system, point, restorePost(endable, "the-key"));
    await retried(system, endable);
    await expectRestoredOnce(endable);
  });
});

test("workers killed at each step issue every restored invoice again once", async ({
  system,
  endedWithThree,
  expectRestoredOnce,
}) => {
  const endables: Endable[] = [];
  for (const _ of ofWorker) endables.push(await endedWithThree());
  await system.worker.stop();
  const answers: Promise<void>[] = [];
  // Each worker dies of new documents. Later workers also meet what it left undone.
  for (const [index, point] of ofWorker.entries()) {
    const endable = endables[index] as Endable;
    answers.push(retried(system, endable));
    const waiting = { subscriptionId: endable.id, state: "ready" };
    await until("the documents wait", async () => (await countJobs(system.pool, waiting)) === 3);
    // It may die before it reports that it is ready, so its start is not awaited.
    void system.worker.start({ BILLING_CRASH_AT: point }).catch(() => undefined);
    await system.worker.exited();
  }
  await system.worker.start();
  await Promise.all(answers);
  for (const endable of endables) await expectRestoredOnce(endable);
});

describe.concurrent("a restoration issues each invoice again once if", () => {
  const write = "PUT /api.xro/2.0/Invoices";
  // The system's calls to the ledger may take two seconds.
  test.for([
    ["a request never came", { kind: "drop_before", match: write }],
    ["an answer was cut off", { kind: "drop_after", match: write }],
    ["an answer came too late", { kind: "slow_after", match: write, delayMs: 3_000 }],
    ["it answered 500", { kind: "status", match: write, status: 500, body: "{}" }],
    [
      "the ledger limited calls",
      { kind: "rate_limit", match: write, times: 2, retryAfterSeconds: 2 },
    ],
  ] as const)("%s", async ([_, fault], { system, endedWithThree, expectRestoredOnce }) => {
    const endable = await endedWithThree();
    await system.fault({ ...fault, tenantId: endable.own.tenantId });
    expect((await postUntilDecided(system.baseUrl, restorePost(endable, "the-key"))).status).toBe(
      200,
    );
    await expectRestoredOnce(endable);
  });
});

/**
 * How many trials of a race with two outcomes, and how many run concurrently: most of each is
 * waiting.
 */
const [trials, trialsAtOnce] = [8, 4];

async function inTrials(work: (trial: number) => Promise<void>): Promise<void> {
  for (let first = 0; first < trials; first += trialsAtOnce) {
    await Promise.all(Array.from({ length: trialsAtOnce }, (_, index) => work(first + index)));
  }
}

describe("concurrent restorations", () => {
  test("with different keys: one succeeds, the others find nothing to restore", async ({
    atOnce,
    endedWithThree,
    expectRestoredOnce,
  }) => {
    await inTrials(async () => {
      const endable = await endedWithThree();
      const keys = ["a", "b", "c", "d", "e", "f"];
      const answers = await atOnce(keys.map((key) => restorePost(endable, key)));
      const lost = answers.filter(({ status }) => status !== 200);
      expect(lost.map(refusalOf)).toEqual(Array.from({ length: 5 }, () => conflict));
      for (const { json } of lost)
        expect(json.error.message).toMatch(/neither ended nor set to end/);
      await expectRestoredOnce(endable);
    });
  });

  test("with one key: every answer except `request_in_progress` is the same", async ({
    second,
    atOnce,
    endedWithThree,
    expectRestoredOnce,
  }) => {
    await inTrials(async () => {
      const endable = await endedWithThree();
      const answers = await atOnce(
        Array.from({ length: 6 }, () => restorePost(endable, "the-key")),
      );
      const last = await postUntilDecided(second.baseUrl, restorePost(endable, "the-key"));
      for (const answer of answers) {
        if (answer.status === 409)
          expect(refusalOf(answer)).toEqual(refused(409, "request_in_progress"));
        else expect(answer.text).toBe(last.text);
      }
      await expectRestoredOnce(endable);
    });
  });
});

/** Whether its last end or its last restoration came later. */
async function lastOf(system: TestSystem, { id }: Endable): Promise<string> {
  const { rows } = await system.pool.query<{ kind: string }>(
    `SELECT kind FROM (SELECT seq, 'restored' AS kind FROM restorations WHERE subscription_id = $1
      UNION ALL SELECT seq, 'ended' FROM terminations WHERE subscription_id = $1 AND ended) s
        ORDER BY seq DESC LIMIT 1`,
    [id],
  );
  return rows[0]?.kind ?? "";
}

describe("a restoration against an end", () => {
  test("set for period end: the later one wins, and no period is billed twice", async ({
    system,
    ends,
    builder,
    atOnce,
  }) => {
    await inTrials(async (trial) => {
      const endable = await ends.withThree();
      const { own, id } = endable;
      await builder.ended(own, id, { when: "period_end" });
      const pair = [restorePost(endable, "restore"), endPost(endable, "end")];
      const [restore, end] =
        trial % 2 === 0 ? await atOnce(pair) : (await atOnce(pair.toReversed())).toReversed();
      if (restore === undefined || end === undefined) throw new Error("two answers");
      expect(end.status, end.text).toBe(200);
      if (restore.status !== 200) {
        expect(refusalOf(restore)).toEqual(conflict);
        expect(restore.json.error.message).toMatch(
          /still running: the subscription is being ended/,
        );
      }
      const { status } = await builder.subscription(own, id);
      const last = await lastOf(system, endable);
      expect(status).toBe(last === "restored" ? "active" : "ended");
      await builder.expectEqualDocuments(own);
      const standing = (await builder.standing(own, id)).map(([name = ""]) =>
        name.replace(/^\S+ /, ""),
      );
      // A credit note is on the change: it reverses what the change billed of the next period.
      expect(standing).toEqual(status === "ended" ? ["change"] : ["first", "change", "renewal"]);
      // Whatever came first, the other can follow.
      if (status === "ended") {
        await builder.restored(own, id);
        expect(await builder.standing(own, id)).toHaveLength(3);
        await builder.expectEqualDocuments(own);
      }
    });
  });

  test("that the ledger has not decided is refused, and succeeds afterwards", async ({
    system,
    ends,
    builder,
    expectRestoredOnce,
  }) => {
    const endable = await ends.withThree();
    const { own, id } = endable;
    await system.stopLedger();
    const ended = postUntilDecided(system.baseUrl, endPost(endable, "end"));
    const end = { subscriptionId: id, kind: "end_subscription" };
    await until("the end runs", () => newestJob(system.pool, end));
    const early = await builder.restore(own, id, "the-key");
    expect(refusalOf(early)).toEqual(conflict);
    expect(early.json.error.message).toMatch(
      /still running: the subscription is being ended, \d of 3 invoices/,
    );
    await system.startLedger();
    expect((await ended).json.status).toBe("ended");
    // The refused key is free again.
    await retried(system, endable);
    await expectRestoredOnce(endable);
  });
});

test("a restoration without Temporal succeeds, and the dispatcher posts its invoices", async ({
  system,
  endedWithThree,
  expectRestoredOnce,
}) => {
  const endable = await endedWithThree();
  const blind = await startApiProcess(system, {
    TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
  });
  try {
    const started = performance.now();
    const answer = await post(blind.baseUrl, restorePost(endable, "the-key"));
    expect([answer?.status, answer?.json.status]).toEqual([200, "active"]);
    expect(performance.now() - started).toBeLessThan(promptAnswerMs);
    await expectRestoredOnce(endable);
  } finally {
    await blind.stop();
  }
});
