/**
 * Strangers who ask for readiness, health or reflection as often as they can leave a client with a
 * key its answers.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, expect } from "vitest";
import { ServerReflectionRequestSchema } from "../../../../src/gen/proto/grpc/reflection/v1/reflection_pb.ts";
import { defaultLimits } from "../../../../src/transport/http/limits/limits.ts";
import { perFile } from "../../../support/file-fixture.ts";
import { systemTest } from "../../../support/fixtures.ts";
import { floodOfCalls, floodOfResets, frameOfMessage } from "../../../support/http2-flood.ts";
import { until } from "../../../support/system.ts";

const test = systemTest
  .extend("settings", perFile, { without: ["worker"], areSeparate: true })
  .extend("key", perFile, async ({ system }) => (await system.organisation()).apiKey)
  /**
   * How requests with a key were answered, one after the other, by status; `none` within a client's
   * patience.
   */
  .extend(
    "keyedStatuses",
    perFile,
    ({ system, key }) =>
      async (times: number): Promise<Record<string, number>> => {
        const counts: Record<string, number> = {};
        for (let index = 0; index < times; index += 1) {
          const init = {
            headers: { authorization: `Bearer ${key}` },
            signal: AbortSignal.timeout(clientPatienceMs),
          };
          const status = await fetch(`${system.baseUrl}/v1/organisation`, init).then(
            (answer) => answer.text().then(() => answer.status),
            () => "none",
          );
          counts[status] = (counts[status] ?? 0) + 1;
        }
        return counts;
      },
  );

const floods: { readonly end: () => void }[] = [];
afterEach(() => {
  for (const flood of floods.splice(0)) flood.end();
});

/**
 * As long as clients wait for an answer; in the review that found these floods none came within it.
 */
const clientPatienceMs = 10_000;

function flood<F extends { readonly end: () => void }>(started: F): F {
  floods.push(started);
  return started;
}

test.for([
  "public",
  "admin",
])("a key keeps its answers during reset requests for /readyz on the %s port", async (which, {
  system,
  keyedStatuses,
}) => {
  const { port } = new URL(which === "public" ? system.baseUrl : system.adminUrl);
  for (let times = 0; times < 3; times += 1) flood(floodOfResets(Number(port), "/readyz", 10, 900));
  expect(await keyedStatuses(20)).toEqual({ 200: 20 });
});

const file = {
  messageRequest: { case: "fileContainingSymbol", value: "billing.v1.SubscriptionService" },
} as const;
const question = frameOfMessage(
  toBinary(ServerReflectionRequestSchema, create(ServerReflectionRequestSchema, file)),
);

test.for([
  {
    what: "checks of health",
    path: "/grpc.health.v1.Health/Check",
    flow: { connections: 5, open: 100 },
  },
  {
    what: "streams of reflection with 300 questions each",
    path: "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    flow: {
      connections: 10,
      open: 10,
      body: Buffer.concat(Array.from({ length: 300 }, () => question)),
    },
  },
])("$what leave a key its answers", async ({ path, flow }, { system, keyedStatuses }) => {
  const { statuses } = flood(floodOfCalls(system.baseUrl, path, flow));
  await until("the flood runs", async () => sum(statuses()) > 50);
  expect(await keyedStatuses(20)).toEqual({ 200: 20 });
  // It did not stop meanwhile.
  const before = sum(statuses());
  await until("the flood goes on", async () => sum(statuses()) > before);
});

test("a key keeps its answers during 10,000 health watches, of which few are held", async ({
  system,
  keyedStatuses,
}) => {
  const connections = 5;
  const flow = { connections, open: 100 };
  const watches = flood(floodOfCalls(system.baseUrl, "/grpc.health.v1.Health/Watch", flow));
  const most = connections * defaultLimits.withoutCredentials.perConnection.count;
  // New watches take the places of older ones, most of them before their answers begin.
  await until("the flood runs", async () => sum(watches.statuses()) > 50);
  expect(await keyedStatuses(20)).toEqual({ 200: 20 });
  await until("10,000 were opened", async () => sum(watches.statuses()) > 10_000);
  expect(watches.maxHeld()).toBeLessThanOrEqual(most);
  expect(await keyedStatuses(1)).toEqual({ 200: 1 });
});

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}
