/**
 * Keyed calls over real PostgreSQL run once, answer alike, and survive the process (IDEMPOTENCY-2,
 * IDEMPOTENCY-7).
 */
import { create, type Message, toBinary } from "@bufbuild/protobuf";
import type pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Refusal } from "../../../src/domain/refusal.ts";
import {
  CreateSubscriptionRequestSchema,
  CreateSubscriptionResponseSchema,
} from "../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import {
  createIdempotencyStore,
  type IdempotencyStore,
} from "../../../src/store/access/idempotency.ts";
import type { Answer } from "../../../src/transport/rpc/call.ts";
import type { Pass } from "../../../src/transport/rpc/gate/gate.ts";
import { createIdempotency, type Idempotency } from "../../../src/transport/rpc/idempotency.ts";
import { insertKey, type StoredKey } from "../../store/access/admission-rows.ts";
import { type FreshDatabase, freshDatabase } from "../../support/database.ts";
import { testPool } from "../../support/pool.ts";
import { callerOf, createSubscription } from "./gate/admission-fixture.ts";

let database: FreshDatabase;
let pool: pg.Pool;
let store: IdempotencyStore;
let idempotency: Idempotency;
let key: StoredKey;
let runs: number;

beforeAll(async () => {
  database = await freshDatabase();
  pool = testPool(database.url, 10);
  store = createIdempotencyStore(pool, { onTrouble: () => undefined });
  idempotency = createIdempotency(store);
});

beforeEach(async () => {
  key = await insertKey(pool);
  runs = 0;
});

afterAll(async () => {
  await store.stop();
  await pool.end();
  await database.drop();
});

const input = (planCode = "pro") =>
  create(CreateSubscriptionRequestSchema, { customerCode: "acme", planCode });
const output = (label: string) =>
  create(CreateSubscriptionResponseSchema, { subscription: { label } });
const bytes = (answer: Answer) =>
  Buffer.from(toBinary(CreateSubscriptionResponseSchema, answer.message as never));

/** Each run has a different answer, so that a replay cannot pass for a second run. */
const execute = async (): Promise<Message> => output(`run ${++runs}`);

function run(request: Message = input(), work: () => Promise<Message> = execute): Promise<Answer> {
  const { apiKeyId, organisationId } = key;
  const pass: Pass = {
    operation: createSubscription,
    caller: callerOf({ apiKeyId, organisationId }),
    requestId: "request-1",
    idempotencyKey: "order-1",
  };
  return idempotency.run({ pass, idempotencyKey: "order-1", request }, work);
}

test.each([
  2, 10, 100,
])("%i equal requests at once run once; the others replay or retry later", async (parallel) => {
  const results = await Promise.allSettled(Array.from({ length: parallel }, () => run()));
  const answers = results.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const refusals = results.flatMap((one) =>
    one.status === "rejected" ? [one.reason as Refusal] : [],
  );
  expect(runs).toBe(1);
  expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
  for (const refusal of refusals)
    expect(refusal).toMatchObject({ code: "request_in_progress", retryAfterSeconds: 2 });
  expect(bytes(await run())).toEqual(bytes(answers[0] as Answer));
  expect(runs).toBe(1);
});

test("a replay is the first response byte for byte, and says that it is one", async () => {
  const first = await run();
  const again = await run();
  expect([first.replayed, again.replayed]).toEqual([false, true]);
  expect(bytes(again)).toEqual(bytes(first));
});

test("another request with the key is a conflict, even while the first runs", async () => {
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const first = run(input(), async () => {
    started.resolve();
    await finish.promise;
    return output("slow");
  });
  await started.promise;
  await expect(run(input("other"))).rejects.toMatchObject({ code: "idempotency_conflict" });
  await expect(run()).rejects.toMatchObject({ code: "request_in_progress" });
  finish.resolve();
  await first;
  await expect(run(input("other"))).rejects.toMatchObject({ code: "idempotency_conflict" });
});

test("a failure is thrown, not stored, and frees the key for a corrected request", async () => {
  const refusal = new Refusal("plan_not_found", "No such plan", "plan_code");
  await expect(run(input("wrong"), () => Promise.reject(refusal))).rejects.toBe(refusal);
  await expect(run(input("wrong"), () => Promise.reject(new Error("a bug")))).rejects.toThrow(
    "a bug",
  );
  expect((await run(input("right"))).replayed).toBe(false);
});

test("a response that cannot be encoded frees the key", async () => {
  await expect(
    run(input(), async () => ({ ...output("x"), subscription: { units: "three" } }) as never),
  ).rejects.toThrow();
  expect((await run()).replayed).toBe(false);
});

test("the row says which operation and path it belongs to", async () => {
  await run();
  const { rows } = await pool.query(
    "SELECT operation, path, state FROM idempotency_keys WHERE api_key_id = $1",
    [key.apiKeyId],
  );
  expect(rows).toEqual([
    {
      operation: "billing.v1.SubscriptionService/CreateSubscription",
      path: "/v1/subscriptions",
      state: "done",
    },
  ]);
});
