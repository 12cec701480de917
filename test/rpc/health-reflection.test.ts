/** What balancers and tools may ask without a key. */

import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../src/gen/proto/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../src/gen/proto/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as Alpha } from "../../src/gen/proto/grpc/reflection/v1alpha/reflection_pb.ts";
import { admitted } from "./admission-for-test.ts";
import { startServer, type TestServer } from "./connect-server-for-test.ts";

let server: TestServer;
let serving = true;

beforeAll(async () => {
  server = await startServer({ admission: () => admitted([]), isServing: () => serving });
});
afterAll(() => server.stop());

const transport = () => createGrpcTransport({ baseUrl: server.http2Url });

describe("health", () => {
  test("is told for the process and each service, and not for a stranger", async () => {
    const client = createClient(Health, transport());
    serving = true;
    expect((await client.check({})).status).toBe(Status.SERVING);
    expect(server.records.at(-1)?.operation).toBe("grpc.health.v1.Health/Check");
    expect((await client.check({ service: "billing.v1.SubscriptionService" })).status).toBe(Status.SERVING);
    const error = await client.check({ service: "nobody" }).then(() => null, ConnectError.from);
    expect(error?.code).toBe(Code.NotFound);
    expect(Object.keys((await client.list({})).statuses)).toContain("billing.v1.InvoiceService");
  });

  test("a watch hears every change, and nothing else", async () => {
    serving = true;
    const stop = new AbortController();
    const heard: number[] = [];
    try {
      for await (const { status } of createClient(Health, transport()).watch({}, { signal: stop.signal })) {
        heard.push(status);
        serving = !serving;
        if (heard.length === 3) stop.abort();
      }
    } catch (error) {
      expect(ConnectError.from(error).code).toBe(Code.Canceled);
    }
    expect(heard).toEqual([Status.SERVING, Status.NOT_SERVING, Status.SERVING]);
  });
});

describe.each([
  ["1", ServerReflection],
  ["1alpha", Alpha as unknown as typeof ServerReflection],
])("reflection version %s", (_, service) => {
  async function ask(messageRequest: {
    case: "listServices" | "fileContainingSymbol" | "fileByFilename" | "allExtensionNumbersOfType";
    value: string;
  }) {
    const questions = async function* () {
      yield { messageRequest };
    };
    for await (const answer of createClient(service, transport()).serverReflectionInfo(questions()))
      return answer.messageResponse;
    throw new Error("no answer");
  }

  test("lists the services", async () => {
    const { value } = await ask({ case: "listServices", value: "" });
    const names = ["billing.v1.SubscriptionService", "billing.v1.InvoiceService", service.typeName];
    expect(value).toMatchObject({
      service: expect.arrayContaining(names.map((name) => expect.objectContaining({ name }))),
    });
  });

  test("gives a service's file with all that it imports, so that a client can build it", async () => {
    const answer = await ask({
      case: "fileContainingSymbol",
      value: "billing.v1.SubscriptionService.CreateSubscription",
    });
    if (answer.case !== "fileDescriptorResponse") throw new Error(`unexpected ${answer.case}`);
    const file = answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: file.toReversed() }));
    expect(registry.getService("billing.v1.SubscriptionService")?.method.createSubscription).toBeDefined();
  });

  test("knows files, extensions and its own limits", async () => {
    expect((await ask({ case: "fileByFilename", value: "billing/v1/common.proto" })).case).toBe(
      "fileDescriptorResponse",
    );
    expect((await ask({ case: "fileByFilename", value: "nowhere.proto" })).case).toBe("errorResponse");
    const extensions = await ask({ case: "allExtensionNumbersOfType", value: "google.protobuf.MethodOptions" });
    expect(extensions.value).toMatchObject({ extensionNumber: expect.arrayContaining([50101]) });
  });
});
