/**
 * Ends while the ledger loses requests and answers, fails, limits, refuses or is down, and while
 * Temporal or the worker is down. Each end finishes once without a client, and a repeat with the
 * same key gets its outcome. END-4, END-10.
 */
import { describe, expect } from "vitest";
import { refusalOf, refused } from "../scenario/checked-ask.ts";
import { aloneTest as test } from "../scenario/fixtures.ts";
import { freePort } from "../support/ports.ts";
import { newestJob, tables } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import { type Endable, endPost, threeRemoved } from "./ends-builder.ts";
import { endPause } from "./ledger-documents.ts";
import {
  dieOf,
  lateAnswerMs,
  post,
  postUntilDecided,
  promptAnswerMs,
  startApiProcess,
} from "./processes.ts";

const unavailable = refused(502, "ledger_unavailable");

/** One try of an end, to its answer, and how long that took. */
async function tryEnd(
  system: TestSystem,
  endable: Endable,
  key = "the-key",
  baseUrl = system.baseUrl,
) {
  const started = performance.now();
  const answer = await post(baseUrl, endPost(endable, key));
  if (answer === null) throw new Error("no answer");
  return { answer, tookMs: performance.now() - started };
}

/** Waits until the newest end of the subscription is decided; without a request. */
async function decided(system: TestSystem, { id }: Endable): Promise<string> {
  const finished = { subscriptionId: id, kind: "end_subscription", finishedAt: { not: null } };
  return until("the end is decided", async () => (await newestJob(system.pool, finished))?.state);
}

const write = "POST /api.xro/2.0/Invoices/";
const read = "GET /api.xro/2.0/Invoices/";

describe.concurrent("an end removes each invoice once if", () => {
  // The system's calls to the ledger may take two seconds.
  test.for([
    ["a request never came", { kind: "drop_before", match: write }],
    ["an answer was cut off", { kind: "drop_after", match: write }],
    ["every first answer was cut off", { kind: "drop_after", match: write, times: 3 }],
    ["an answer came too late", { kind: "slow_after", match: write, delayMs: 3_000 }],
    ["it was done after we had given up", { kind: "slow_before", match: write, delayMs: 2_500 }],
    ["a gateway answered 503 in HTML", { kind: "status", match: write, status: 503 }],
    ["it answered 500", { kind: "status", match: write, status: 500, body: "{}" }],
    ["the read before it failed", { kind: "drop_before", match: read, times: 2 }],
    [
      "there was no such address for a while",
      { kind: "status", match: read, status: 404, body: "{}" },
    ],
    [
      "the read was refused for a while",
      { kind: "status", match: read, status: 405, body: "{}", times: 2 },
    ],
    [
      "it was changed at the same moment",
      { kind: "status", match: write, status: 412, body: "{}" },
    ],
    ["a token was refused", { kind: "status", match: write, status: 401, body: "{}" }],
    [
      "the ledger limited calls",
      { kind: "rate_limit", match: write, times: 2, retryAfterSeconds: 2 },
    ],
  ] as const)("%s", async ([_, fault], { system, ends }) => {
    const endable = await ends.withThree();
    await system.fault({ ...fault, tenantId: endable.own.tenantId });
    expect((await postUntilDecided(system.baseUrl, endPost(endable, "the-key"))).status).toBe(200);
    await ends.expectEnded(endable);
    expect(await ends.removals(endable)).toEqual(threeRemoved);
  });
});

test("an end that outlasts its answer gets 502, and its key gets its outcome later", async ({
  system,
  ends,
}) => {
  const [endable, keyless] = [await ends.withThree(), await ends.withThree()];
  const { own, id } = endable;
  await system.stopLedger();
  const body = { when: "now", delete_unsent_invoices: true };
  const [{ answer, tookMs }, withoutKey] = await Promise.all([
    tryEnd(system, endable),
    ends.builder.end(keyless.own, keyless.id, body, null),
  ]);
  expect(refusalOf(withoutKey)).toEqual(unavailable);
  expect(withoutKey.json.error.message).toMatch(
    /The end goes on by itself: read the subscription\.$/,
  );
  expect(refusalOf(answer)).toEqual(unavailable);
  expect(answer.json.error.message).toMatch(
    /goes on by itself: ask again with the same Idempotency-Key/,
  );
  expect(tookMs).toBeLessThan(lateAnswerMs);
  expect((await ends.builder.subscription(own, id)).status).toBe("active");
  // Meanwhile the same key answers `request_in_progress`, and no other operation is admitted.
  const again = (await tryEnd(system, endable)).answer;
  expect(refusalOf(again)).toEqual(refused(409, "request_in_progress"));
  expect(again.headers.get("retry-after")).toBe("2");
  const conflict = refused(409, "invalid_state");
  for (const body of [{ when: "now" }, { when: "period_end" }]) {
    const other = await ends.builder.end(own, id, body);
    expect(refusalOf(other)).toEqual(conflict);
    expect(other.json.error.message).toMatch(
      /still running: the subscription is being ended, 0 of 3 invoices removed/,
    );
  }
  expect(
    refusalOf(await ends.builder.change(own, id, { units: 20, document: "separate" })),
  ).toEqual(conflict);
  const otherBody = { ...endPost(endable, "the-key"), body: { when: "now" } };
  expect(refusalOf(await post(system.baseUrl, otherBody).then((one) => one ?? again))).toEqual(
    refused(409, "idempotency_conflict"),
  );
  // Nothing falls due while it runs, also not a renewal.
  await ends.builder.setClock(own, "2026-05-02");
  expect(refusalOf(await ends.builder.change(own, id, { units: 20 }))).toEqual(conflict);
  expect(await ends.builder.summaries(own, id)).toHaveLength(3);
  await ends.builder.setClock(own, "2026-04-16");
  await system.startLedger();
  for (const one of [endable, keyless]) {
    expect(await decided(system, one)).toBe("done");
    await ends.expectEnded(one);
  }
  const shown = (await tryEnd(system, endable)).answer;
  expect([shown.status, shown.json.status]).toEqual([200, "ended"]);
  expect(await ends.removals(endable)).toEqual(threeRemoved);
});

test("an end beyond a limit of the ledger answers at once and finishes later", async ({
  system,
  ends,
}) => {
  const endable = await ends.withThree();
  const { tenantId, organisationId } = endable.own;
  await system.fault({
    kind: "rate_limit",
    match: read,
    problem: "day",
    retryAfterSeconds: 3_600,
    tenantId,
  });
  const { answer, tookMs } = await tryEnd(system, endable);
  expect(refusalOf(answer)).toEqual(unavailable);
  expect(tookMs).toBeLessThan(promptAnswerMs);
  await until("the connection is paused", () =>
    tables(system.pool).ledgerConnection.findFirst({
      where: { organisationId, pausedUntil: { gt: new Date() } },
    }),
  );
  await endPause(system, organisationId);
  expect(await decided(system, endable)).toBe("done");
  await ends.expectEnded(endable);
});

test("a refused end that was answered 502 is reported to the repeat, and only once", async ({
  system,
  ends,
}) => {
  const endable = await ends.withThree();
  const { own, id } = endable;
  await system.fault({
    kind: "refuse",
    match: write,
    tenantId: own.tenantId,
    messages: ["Locked."],
  });
  await dieOf(system, "ledger_woken", endPost(endable, "the-key"));
  expect(await decided(system, endable)).toBe("refused");
  const shown = await postUntilDecided(system.baseUrl, endPost(endable, "the-key"));
  expect(refusalOf(shown)).toEqual(refused(409, "invalid_state"));
  expect(shown.json.error.message).toMatch(
    /refused to remove invoice INV-0002.* The ledger says: Locked\.$/,
  );
  expect((await ends.builder.subscription(own, id)).status).toBe("active");
  const again = await postUntilDecided(system.baseUrl, endPost(endable, "the-key"));
  expect([again.status, again.json.status]).toEqual([200, "ended"]);
  const refusedFirst = ["INV-0002 refused", "INV-0003 left", "INV-0001 left"];
  expect(await ends.removals(endable)).toEqual([...refusedFirst, ...threeRemoved]);
  await ends.builder.expectEqualDocuments(own);
});

describe("an end with an invoice on its way to the ledger", () => {
  test("waits for it and then removes it there", async ({ system, ends }) => {
    const own = await ends.builder.sandbox();
    const slow = {
      kind: "slow_after",
      match: "PUT /api.xro/2.0/Invoices",
      delayMs: 4_000,
      tenantId: own.tenantId,
    };
    await system.fault(slow);
    const body = { customer_code: "ACME", plan_code: "team", units: 10 };
    const create = { path: "/v1/subscriptions", key: own.apiKey, idempotencyKey: "create", body };
    const created = postUntilDecided(system.baseUrl, create);
    const sent = { organisationId: own.organisationId, state: { not: "ready" } };
    const id = await until(
      "it is being sent",
      async () => (await newestJob(system.pool, sent))?.subscriptionId,
    );
    const ended = await postUntilDecided(system.baseUrl, endPost({ own, id }, "the-key"));
    expect([ended.status, ended.json.status]).toEqual([200, "ended"]);
    expect((await created).status).toBe(201);
    expect(await ends.removals({ own, id })).toEqual(["INV-0001 removed deleted"]);
    await ends.builder.expectEqualDocuments(own);
    expect(await ends.builder.ledgerStatuses(own)).toEqual(["INV-0001 DELETED"]);
  });

  test("abandons an invoice that was never sent, without the ledger", async ({ system, ends }) => {
    const own = await ends.builder.sandbox();
    await system.stopLedger();
    const body = { customer_code: "ACME", plan_code: "team", units: 10 };
    const create = { path: "/v1/subscriptions", key: own.apiKey, idempotencyKey: "create", body };
    const created = await postUntilDecided(system.baseUrl, create);
    expect(created.json.invoice.status).toBe("scheduled");
    const endable = { own, id: created.json.id };
    const ended = await postUntilDecided(system.baseUrl, endPost(endable, "the-key"));
    expect([ended.status, ended.json.status]).toEqual([200, "ended"]);
    await system.startLedger();
    await ends.builder.posted(own);
    expect(await ends.removals(endable)).toEqual(["INV-0001 removed never_sent"]);
    expect(await ends.builder.summaries(own, endable.id)).toEqual(["INV-0001 first deleted"]);
    expect(await ends.builder.ledgerStatuses(own)).toEqual([]);
  });
});

test("an end answers 502 at once without Temporal, and the dispatcher finishes it", async ({
  system,
  ends,
}) => {
  const endable = await ends.withThree();
  const blind = await startApiProcess(system, {
    TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
  });
  // The dispatcher could be there as soon as the answer.
  await system.worker.stop();
  try {
    const { answer, tookMs } = await tryEnd(system, endable, "the-key", blind.baseUrl);
    expect(refusalOf(answer)).toEqual(unavailable);
    expect(tookMs).toBeLessThan(promptAnswerMs);
    await system.worker.start();
    expect(await decided(system, endable)).toBe("done");
    await ends.expectEnded(endable);
    expect((await tryEnd(system, endable)).answer.status).toBe(200);
  } finally {
    await blind.stop();
  }
});

test("an end answers 502 in time without a worker, and the next worker finishes it", async ({
  system,
  ends,
}) => {
  const endable = await ends.withThree();
  await system.worker.stop();
  const { answer, tookMs } = await tryEnd(system, endable);
  expect(refusalOf(answer)).toEqual(unavailable);
  expect(tookMs).toBeLessThan(lateAnswerMs);
  await system.worker.start();
  expect(await decided(system, endable)).toBe("done");
  await ends.expectEnded(endable);
});
