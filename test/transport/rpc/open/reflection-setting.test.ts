/**
 * GRPC_REFLECTION decides whether the port lists its services. Health is always served. The
 * database may be down for both.
 */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { pino } from "pino";
import { afterEach, expect, test } from "vitest";
import { readConfig } from "../../../../src/config.ts";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../../src/gen/proto/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../../src/gen/proto/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as Alpha } from "../../../../src/gen/proto/grpc/reflection/v1alpha/reflection_pb.ts";
import { ledgers } from "../../../../src/ledger/index.ts";
import { startApi } from "../../../../src/main/api.ts";
import type { Running } from "../../../../src/main/run.ts";

let api: Running | null = null;
afterEach(async () => {
  await api?.stop();
  api = null;
});

/** Nothing listens on port 1. */
const nowhere = "postgresql://nobody@127.0.0.1:1/nothing";

async function start(reflection: string) {
  const env = {
    DATABASE_URL: nowhere,
    SECRET_KEY: Buffer.alloc(32).toString("base64"),
    API_PORT: "0",
    ADMIN_PORT: "0",
    GRPC_REFLECTION: reflection,
    SHUTDOWN_SECONDS: "1",
  };
  api = await startApi(readConfig(env), pino({ enabled: false }), ledgers);
  return createGrpcTransport({ baseUrl: `http://127.0.0.1:${api.port}` });
}

async function servicesOf(
  transport: ReturnType<typeof createGrpcTransport>,
  version: typeof ServerReflection,
) {
  const questions = async function* () {
    yield { messageRequest: { case: "listServices" as const, value: "" } };
  };
  for await (const { messageResponse } of createClient(version, transport).serverReflectionInfo(
    questions(),
  )) {
    if (messageResponse.case === "listServicesResponse")
      return messageResponse.value.service.map(({ name }) => name);
  }
  throw new Error("no answer");
}

const versions = [ServerReflection, Alpha as unknown as typeof ServerReflection];

test("off: reflection of either version is unknown, and health is served", async () => {
  const transport = await start("off");
  for (const version of versions) {
    const error = await servicesOf(transport, version).then(() => null, ConnectError.from);
    expect(error?.code).toBe(Code.Unimplemented);
  }
  expect((await createClient(Health, transport).check({})).status).toBe(Status.NOT_SERVING);
});

test("on: it lists every service of the contract", async () => {
  const transport = await start("on");
  for (const version of versions) {
    expect(await servicesOf(transport, version)).toEqual(
      expect.arrayContaining([
        "billing.v1.OrganisationService",
        "billing.v1.UsageService",
        version.typeName,
      ]),
    );
  }
});
