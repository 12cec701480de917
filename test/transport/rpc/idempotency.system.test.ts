/**
 * Keyed calls over real PostgreSQL run once, answer alike, and survive the process (IDEMPOTENCY-2,
 * IDEMPOTENCY-7).
 */
import { create, type Message, toBinary } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { Refusal } from "../../../src/domain/refusal.ts";
import {
  CreateSubscriptionRequestSchema,
  CreateSubscriptionResponseSchema,
} from "../../../src/gen/proto/billing/v1/subscriptions_pb.ts";
import { createIdempotencyStore } from "../../../src/store/access/idempotency.ts";
import type { Answer } from "../../../src/transport/rpc/call.ts";
import type { Pass } from "../../../src/transport/rpc/gate/gate.ts";
import { createIdempotency, type Idempotency } from "../../../src/transport/rpc/idempotency.ts";
import { perFile, stopInTime } from "../../support/file-fixture.ts";
import { databaseTest } from "../../support/fixtures.ts";
import { insertKey, type StoredKey } from "../../support/organisation-builder.ts";
import { testPool } from "../../support/pool.ts";
import { tables } from "../../support/rows.ts";
import { callerOf, createSubscription } from "./gate/admission-fixture.ts";

let key: StoredKey;
let runs: number;

const test = databaseTest
  .extend("pool", perFile, async ({ database }, { onCleanup }) => {
    const pool = testPool(database.url, 10);
    onCleanup(() => stopInTime(() => pool.end()));
    return pool;
  })
  .extend("store", perFile, async ({ pool }, { onCleanup }) => {
    const store = createIdempotencyStore(pool, { onTrouble: () => undefined });
    onCleanup(() => stopInTime(() => store.stop()));
    return store;
  })
  .extend("idempotency", perFile, async ({ store }) => createIdempotency(store));

test.beforeEach(async ({ pool }) => {
  key = await insertKey(pool);
  runs = 0;
});

const input = (planCode = "pro") =>
  create(CreateSubscriptionRequestSchema, { customerCode: "acme", planCode });
const output = (label: string) =>
  create(CreateSubscriptionResponseSchema, { subscription: { label } });
const bytes = (answer: Answer) =>
  Buffer.from(toBinary(CreateSubscriptionResponseSchema, answer.message as never));

/** Each run has a different answer, so that a replay cannot pass for a second run. */
const execute = async (): Promise<Message> => output(`run ${++runs}`);

function run(
  idempotency: Idempotency,
  request: Message = input(),
  work: () => Promise<Message> = execute,
): Promise<Answer> {
  const { apiKeyId, organisationId } = key;
  const pass: Pass = {
    operation: createSubscription,
    caller: callerOf({ apiKeyId, organisationId }),
    requestId: "request-1",
    idempotencyKey: "order-1",
  };
  return idempotency({ pass, idempotencyKey: "order-1", request }, work);
}

test.for([
  2, 10, 100,
])("%i equal requests at once run once; the others replay or retry later", async (parallel, {
  idempotency,
}) => {
  const results = await Promise.allSettled(
    Array.from({ length: parallel }, () => run(idempotency)),
  );
  const answers = results.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const refusals = results.flatMap((one) =>
    one.status === "rejected" ? [one.reason as Refusal] : [],
  );
  expect(runs).toBe(1);
  expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
  for (const refusal of refusals)
    expect(refusal).toMatchObject({ code: "request_in_progress", retryAfterSeconds: 2 });
  expect(bytes(await run(idempotency))).toEqual(bytes(answers[0] as Answer));
  expect(runs).toBe(1);
});

test("a replay is the first response byte for byte, and says that it is one", async ({
  idempotency,
}) => {
  const first = await run(idempotency);
  const again = await run(idempotency);
  expect([first.replayed, again.replayed]).toEqual([false, true]);
  expect(bytes(again)).toEqual(bytes(first));
});

test("another request with the key is a conflict, even while the first runs", async ({
  idempotency,
}) => {
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const first = run(idempotency, input(), async () => {
    started.resolve();
    await finish.promise;
    return output("slow");
  });
  await started.promise;
  await expect(run(idempotency, input("other"))).rejects.toMatchObject({
    code: "idempotency_conflict",
  });
  await expect(run(idempotency)).rejects.toMatchObject({ code: "request_in_progress" });
  finish.resolve();
  await first;
  await expect(run(idempotency, input("other"))).rejects.toMatchObject({
    code: "idempotency_conflict",
  });
});

test("a failure is thrown, not stored, and frees the key for a corrected request", async ({
  idempotency,
}) => {
  const refusal = new Refusal("plan_not_found", "No such plan", "plan_code");
  await expect(run(idempotency, input("wrong"), () => Promise.reject(refusal))).rejects.toBe(
    refusal,
  );
  await expect(
    run(idempotency, input("wrong"), () => Promise.reject(new Error("a bug"))),
  ).rejects.toThrow("a bug");
  expect((await run(idempotency, input("right"))).replayed).toBe(false);
});

test("a response that cannot be encoded frees the key", async ({ idempotency }) => {
  await expect(
    run(
      idempotency,
      input(),
      async () => ({ ...output("x"), subscription: { units: "three" } }) as never,
    ),
  ).rejects.toThrow();
  expect((await run(idempotency)).replayed).toBe(false);
});

test("the row says which operation and path it belongs to", async ({ pool, idempotency }) => {
  await run(idempotency);
  const rows = await tables(pool).idempotencyKey.findMany({
    where: { apiKeyId: key.apiKeyId },
    select: { operation: true, path: true, state: true },
  });
  expect(rows).toEqual([
    {
      operation: "billing.v1.SubscriptionService/CreateSubscription",
      path: "/v1/subscriptions",
      state: "done",
    },
  ]);
});
