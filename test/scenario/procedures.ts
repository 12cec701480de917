/**
 * Calls any method of the contract over each of its protocols and returns the outcome in one form.
 */
import { create, type DescMethodUnary, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { type ErrorDetail, ErrorDetailSchema } from "../../src/gen/proto/billing/v1/common_pb.ts";
import { operationOf } from "../../src/transport/rpc/operation.ts";
import { methods } from "../contract/methods.ts";

/** The protocols that the port speaks in addition to REST. */
export const protocols = ["Connect JSON", "Connect binary", "gRPC-Web", "gRPC"] as const;

/** One of them. */
type Protocol = (typeof protocols)[number];

/** Every method of the contract with its rules, by its name (`ListPlans`). */
export const operations = new Map(methods.map((method) => [method.name, operationOf(method)]));

/**
 * The outcome of a call: `code` is null if it succeeded, `message` its answer as JSON with the
 * names of the proto file.
 */
interface Called {
  readonly code: keyof typeof Code | null;
  readonly detail: ErrorDetail | null;
  /** Header fields of the answer, or the metadata of the error. */
  readonly headers: Headers;
  readonly message: unknown;
}

/** Calls a method over a protocol, with these headers in addition to the key. */
export type CallMethod = (
  protocol: Protocol,
  name: string,
  request: MessageInitShape<DescMethodUnary["input"]>,
  options?: { readonly key?: string | undefined; readonly headers?: Record<string, string> },
) => Promise<Called>;

/** The method of this name, `CreateSubscription`. */
function methodNamed(name: string): DescMethodUnary {
  const operation = operations.get(name);
  if (operation === undefined) throw new Error(`the contract has no method ${name}`);
  return operation.method;
}

/**
 * A transport of each protocol to this address: gRPC over HTTP/2 in cleartext, the others over
 * HTTP/1.1.
 */
export function transportsTo(baseUrl: string): Readonly<Record<Protocol, Transport>> {
  const http1 = { baseUrl, httpVersion: "1.1" } as const;
  return {
    "Connect JSON": createConnectTransport(http1),
    "Connect binary": createConnectTransport({ ...http1, useBinaryFormat: true }),
    "gRPC-Web": createGrpcWebTransport(http1),
    gRPC: createGrpcTransport({ baseUrl }),
  };
}

/** A `CallMethod` to this address. */
export function callsTo(baseUrl: string): CallMethod {
  const transports = transportsTo(baseUrl);
  return async (protocol, name, request, { key, headers: more = {} } = {}) => {
    const method = methodNamed(name);
    const headers = new Headers(more);
    if (key !== undefined) headers.set("Authorization", `Bearer ${key}`);
    try {
      const message = create(method.input, request);
      const answer = await transports[protocol].unary(
        method,
        undefined,
        undefined,
        headers,
        message,
      );
      const shown = toJson(method.output, answer.message, {
        alwaysEmitImplicit: true,
        useProtoFieldName: true,
      });
      return { code: null, detail: null, headers: answer.header, message: shown };
    } catch (thrown) {
      const error = ConnectError.from(thrown);
      const [detail = null] = error.findDetails(ErrorDetailSchema);
      return {
        code: Code[error.code] as keyof typeof Code,
        detail,
        headers: error.metadata,
        message: error.rawMessage,
      };
    }
  };
}
