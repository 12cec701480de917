/**
 * The services over Connect, gRPC-Web and gRPC: the gate runs before a message is read, the call
 * after it. Every error has the service's detail. The result is options for `connectNodeAdapter`,
 * and REST uses the same gate and call. REQUEST-1, REQUEST-13.
 */

import assert from "node:assert/strict";
import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import {
  type ConnectRouter,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type ServiceImpl,
} from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import type { ConnectNodeAdapterOptions } from "@connectrpc/connect-node";
import type { CallOperation } from "../call.ts";
import { type Caller, credentialIdOf, organisationIdOf, type Principal } from "../caller.ts";
import type { Gate, Pass, SetHeader } from "../gate/gate.ts";
import type { ServiceBinding } from "../implementation.ts";
import type { RequestRecord } from "../observe.ts";
import { type Operation, operationOf } from "../operation.ts";
import { connectErrorOf, type ErrorReport, type ReportError } from "../refusals.ts";
import { countBodies, type Guards, refuseUnsupportedRequests } from "./guards.ts";
import { reportLibraryErrors } from "./library-faults.ts";
import { checkJsonBodies, compressions, readMaxBytes } from "./strict-json.ts";

/** Registers services that need no key (health, reflection). */
export type OpenRoutes = (router: ConnectRouter) => void;

/** The dependencies of the routes. */
interface ConnectParts<C extends Principal = Caller> {
  readonly gate: Gate<C>;
  readonly call: CallOperation<C>;
  readonly reportError: ReportError;
  readonly checkJson: Guards["checkJson"];
  /**
   * Returns the record that the port created for this request. Its id is already in the response.
   */
  readonly recordOf: (request: object) => RequestRecord | undefined;
  readonly open?: readonly OpenRoutes[];
  /** Aborted when the server stops. Long watches then end. */
  readonly shutdownSignal?: AbortSignal;
}

/** Set for every request before any other handler runs. */
const stateKey = createContextKey<CallState | null>(null);

interface CallState {
  readonly record: RequestRecord;
  pass: Pass<Principal> | null;
  /** Whether the request has become a message. A later failure is no fault of the request. */
  read: boolean;
  /**
   * True for HTTP/1: the rest of a body that was refused midway blocks the next request of the
   * connection.
   */
  readonly oneRequestAtATime: boolean;
  /** The TCP connection or HTTP/2 session, the same object for each of its requests. */
  readonly connection: object;
}

/**
 * Returns the adapter's options for these services. Unknown members of Connect's JSON are refused,
 * as over REST.
 */
export function connectRoutes<C extends Principal = Caller>(
  bindings: readonly ServiceBinding<C>[],
  parts: ConnectParts<C>,
): ConnectNodeAdapterOptions {
  const operations = new Map<DescMethod, Operation>();
  for (const { service } of bindings) {
    for (const method of service.methods) operations.set(method, operationOf(method));
  }
  const reportError = (state: CallState, error: unknown): ErrorReport => {
    const report = parts.reportError(error, state.record.requestId);
    state.record.code = report.code;
    return report;
  };
  const guards: Guards = {
    admit: async (method, values, response) => {
      const operation = operations.get(method);
      if (operation !== undefined) await admit(parts, operation, stateOf(values), response);
    },
    report: (values, error) => reportError(stateOf(values), error),
    hold: (values, bytes) => {
      const { record } = stateOf(values);
      return record.holdBody(record.apiKeyId, bytes);
    },
    checkJson: parts.checkJson,
  };
  const guard = (handler: UniversalHandler) =>
    countBodies(checkJsonBodies(refuseUnsupportedRequests(handler, guards), guards), guards);

  return {
    readMaxBytes,
    acceptCompression: compressions,
    jsonOptions: { ignoreUnknownFields: false },
    ...(parts.shutdownSignal === undefined ? {} : { shutdownSignal: parts.shutdownSignal }),
    contextValues: (request) => newState(parts, request),
    requestGate: async (context) => {
      const state = stateOf(context.values);
      state.record.protocol = context.protocolName;
      state.record.operation = `${context.service.typeName}/${context.method.name}`;
      const operation = operations.get(context.method);
      if (operation === undefined) return;
      reportLibraryErrors(
        context,
        () => state.read,
        (error) => {
          const report = reportError(state, error);
          if (report.code === "request_too_large" && state.oneRequestAtATime)
            context.responseHeader.set("Connection", "close");
          return report;
        },
      );
      try {
        await admit(parts, operation, state, context.responseHeader);
      } catch (error) {
        throw connectErrorOf(reportError(state, error));
      }
    },
    routes: (router) => {
      for (const binding of bindings)
        router.service(binding.service, implementationOf(binding, parts, reportError));
      const guarded = router.handlers.map(guard);
      router.handlers.splice(0, guarded.length, ...guarded);
      for (const open of parts.open ?? []) open(router);
    },
  };
}

type NodeRequest = Parameters<NonNullable<ConnectNodeAdapterOptions["contextValues"]>>[0];

function newState(parts: Pick<ConnectParts, "recordOf">, request: NodeRequest): ContextValues {
  const record = parts.recordOf(request);
  assert(record !== undefined, "a request came without the record of its port");
  return createContextValues().set(stateKey, {
    record,
    pass: null,
    read: false,
    oneRequestAtATime: request.httpVersion.startsWith("1."),
    connection: ("stream" in request ? request.stream.session : request.socket) ?? request,
  });
}

/** Returns the connection of a call. Calls without a key are limited for each connection. */
export function connectionOf(values: ContextValues): object {
  return stateOf(values).connection;
}

function stateOf(values: ContextValues | undefined): CallState {
  const state = values?.get(stateKey);
  assert(state, "a request came without its state");
  return state;
}

async function admit<C extends Principal>(
  { gate }: Pick<ConnectParts<C>, "gate">,
  operation: Operation,
  state: CallState,
  response: Headers,
): Promise<void> {
  const { record } = state;
  record.operation = operation.name;
  const setHeader: SetHeader = (name, value) => response.set(name, value);
  const passed = await gate(operation, record.credentials, record.requestId, setHeader);
  state.pass = passed;
  record.organisationId = organisationIdOf(passed.caller);
  record.apiKeyId = credentialIdOf(passed.caller);
}

type UnaryImplementation = (request: Message, context: HandlerContext) => Promise<object>;

function implementationOf<C extends Principal>(
  { service }: ServiceBinding<C>,
  { call }: Pick<ConnectParts<C>, "call">,
  reportError: (state: CallState, error: unknown) => ErrorReport,
): Partial<ServiceImpl<DescService>> {
  const answer: UnaryImplementation = async (request, context) => {
    const state = stateOf(context.values);
    state.read = true;
    try {
      assert(state.pass !== null, "a call came past the gate");
      // The gate of the same dependencies created this pass.
      const { message, replayed } = await call(state.pass as Pass<C>, request, {
        signal: context.signal,
      });
      if (replayed) context.responseHeader.set("Idempotent-Replayed", "true");
      return message;
    } catch (error) {
      throw connectErrorOf(reportError(state, error));
    }
  };
  return Object.fromEntries(service.methods.map(({ localName }) => [localName, answer])) as never;
}
