/** What balancers and tools may ask without a key. */

import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../../src/gen/proto/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../../src/gen/proto/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as Alpha } from "../../../../src/gen/proto/grpc/reflection/v1alpha/reflection_pb.ts";
import { startServer, type TestServer } from "../connect/connect-server-fixture.ts";
import { admitted } from "../gate/admission-fixture.ts";

let server: TestServer;
let serving = true;
const listeners = new Set<() => void>();

/** Stands for the readiness of a process: how often it is asked, and who hears of its changes. */
const readiness = {
  isServing: async () => serving,
  subscribe: (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

function serve(now: boolean): void {
  serving = now;
  for (const listener of listeners) listener();
}

const anHour = 3_600_000;

beforeAll(async () => {
  const reflection = { inAll: 3, ofOne: 2, questions: 5 };
  server = await startServer({
    admission: () => admitted([]),
    readiness,
    watches: { inAll: 5, ofOne: 3, watchMs: anHour },
    reflection,
  });
});
afterAll(() => server.stop());

const transport = () => createGrpcTransport({ baseUrl: server.http2Url });

describe("health", () => {
  test("is reported for the process and each service, and not for an unknown one", async () => {
    const client = createClient(Health, transport());
    serving = true;
    expect((await client.check({})).status).toBe(Status.SERVING);
    expect(server.records.at(-1)?.operation).toBe("grpc.health.v1.Health/Check");
    expect((await client.check({ service: "billing.v1.SubscriptionService" })).status).toBe(
      Status.SERVING,
    );
    const error = await client.check({ service: "nobody" }).then(() => null, ConnectError.from);
    expect(error?.code).toBe(Code.NotFound);
    expect(Object.keys((await client.list({})).statuses)).toContain("billing.v1.InvoiceService");
  });

  test("a watch hears every change, and nothing else", async () => {
    serve(true);
    const heard: number[] = [];
    const { statuses, stop } = await watch();
    const listening = (async () => {
      for await (const status of statuses) {
        heard.push(status);
        if (heard.length === 3) stop();
        // Notified twice, with the same state the second time.
        serve(!serving);
        serve(serving);
      }
    })();
    await listening;
    expect(heard).toEqual([Status.SERVING, Status.NOT_SERVING, Status.SERVING]);
    await expect.poll(() => listeners.size).toBe(0);
  });

  test("watches over the limit of a connection or of all are unimplemented", async () => {
    serve(true);
    const [first, second] = [transport(), transport()];
    const open = await Promise.all([
      watch(first),
      watch(first),
      watch(first),
      watch(second),
      watch(second),
    ]);
    for (const full of [first, second, transport()]) {
      const refused = await watch(full).then(() => null, ConnectError.from);
      expect(refused?.code).toBe(Code.Unimplemented);
    }
    // They all hear of a change, and cost no question of their own.
    serve(false);
    for (const { next } of open) expect(await next()).toBe(Status.NOT_SERVING);
    open[0]?.stop();
    await expect.poll(() => listeners.size).toBe(4);
    const again = await watch(first);
    for (const each of [...open, again]) each.stop();
    await expect.poll(() => listeners.size).toBe(0);
  });

  test("a watch ends after its time so that its client watches again", async () => {
    const brief = await startServer({
      admission: () => admitted([]),
      readiness,
      watches: { inAll: 1, ofOne: 1, watchMs: 50 },
    });
    const client = createClient(Health, createGrpcTransport({ baseUrl: brief.http2Url }));
    // One after the other: each has given its place back.
    for (let index = 0; index < 3; index += 1) {
      const heard: number[] = [];
      const ended = (async () => {
        for await (const { status } of client.watch({})) heard.push(status);
      })();
      expect(await ended.then(() => null, ConnectError.from)).toMatchObject({
        code: Code.Unavailable,
      });
      expect(heard).toHaveLength(1);
    }
    await brief.stop();
  });
});

/** A watch that has its first answer. */
async function watch(over = transport()) {
  const aborting = new AbortController();
  const answers = createClient(Health, over)
    .watch({}, { signal: aborting.signal })
    [Symbol.asyncIterator]();
  const next = async (): Promise<number | null> => {
    const { done, value } = await answers.next();
    return done === true ? null : value.status;
  };
  const first = await next();
  const statuses = async function* () {
    try {
      for (let status = first; status !== null; status = await next()) yield status;
    } catch (error) {
      if (ConnectError.from(error).code !== Code.Canceled) throw error;
    }
  };
  return { next, statuses: statuses(), stop: () => aborting.abort() };
}

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

  test("knows the details of errors, which no service's file imports", async () => {
    for (const value of ["google.rpc.BadRequest", "billing.v1.ErrorDetail"])
      expect((await ask({ case: "fileContainingSymbol", value }))?.case).toBe(
        "fileDescriptorResponse",
      );
  });

  test("returns a service's file with all its imports", async () => {
    const answer = await ask({
      case: "fileContainingSymbol",
      value: "billing.v1.SubscriptionService.CreateSubscription",
    });
    if (answer.case !== "fileDescriptorResponse") throw new Error(`unexpected ${answer.case}`);
    const file = answer.value.fileDescriptorProto.map((bytes) =>
      fromBinary(FileDescriptorProtoSchema, bytes),
    );
    const registry = createFileRegistry(
      create(FileDescriptorSetSchema, { file: file.toReversed() }),
    );
    expect(
      registry.getService("billing.v1.SubscriptionService")?.method.createSubscription,
    ).toBeDefined();
  });

  test("knows files, extensions and its own limits", async () => {
    expect((await ask({ case: "fileByFilename", value: "billing/v1/common.proto" })).case).toBe(
      "fileDescriptorResponse",
    );
    expect((await ask({ case: "fileByFilename", value: "nowhere.proto" })).case).toBe(
      "errorResponse",
    );
    const extensions = await ask({
      case: "allExtensionNumbersOfType",
      value: "google.protobuf.MethodOptions",
    });
    expect(extensions.value).toMatchObject({ extensionNumber: expect.arrayContaining([50101]) });
  });

  test("ends a stream with too many questions, and streams over the limits", async () => {
    const question = { messageRequest: { case: "listServices" as const, value: "" } };
    const client = createClient(service, transport());
    const many = async function* () {
      for (let index = 0; index < 6; index += 1) yield question;
    };
    let answers = 0;
    const ended = (async () => {
      for await (const _ of client.serverReflectionInfo(many())) answers += 1;
    })();
    expect([await ended.then(() => null, codeOf), answers]).toEqual([Code.ResourceExhausted, 5]);

    const [first, second] = [transport(), transport()];
    const open = await Promise.all([first, first, second].map((over) => openStream(service, over)));
    for (const full of [first, second]) {
      expect(await openStream(service, full).then(() => null, codeOf)).toBe(Code.ResourceExhausted);
    }
    for (const stop of open) stop();
    // Their places are free again.
    await expect
      .poll(() => ask({ case: "listServices", value: "" }).then(() => "answered", codeOf))
      .toBe("answered");
  });
});

function codeOf(error: unknown): Code {
  return ConnectError.from(error).code;
}

/** A stream of reflection that has its first answer and asks no more. */
async function openStream(
  service: typeof ServerReflection,
  over: ReturnType<typeof transport>,
): Promise<() => void> {
  const ended = Promise.withResolvers<void>();
  const questions = async function* () {
    yield { messageRequest: { case: "listServices" as const, value: "" } };
    await ended.promise;
  };
  const answers = createClient(service, over)
    .serverReflectionInfo(questions())
    [Symbol.asyncIterator]();
  await answers.next();
  return () => {
    ended.resolve();
    void answers.next();
  };
}
