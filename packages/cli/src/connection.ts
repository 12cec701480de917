/**
 * The connection to the admin services: address and token from options and environment, one call at
 * a time, and its errors by kind.
 */
import { randomUUID } from "node:crypto";
import type { DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { ErrorDetailSchema } from "../../../src/gen/proto/billing/v1/common_pb.ts";
import { operationOf } from "../../../src/transport/rpc/operation.ts";
import { RefusedError, UnreachableError, UsageError } from "./failures.ts";
import type { Terminal } from "./terminal.ts";

/** The default address of the admin services, where `npm start` serves them. */
export const defaultUrl = "http://127.0.0.1:8081";

/**
 * Longer than the slowest method. That method calls the ledger a few times, each within ten seconds
 * by default.
 */
const timeoutMs = 60_000;

/** The options of the connection. */
export interface ConnectionOptions {
  readonly url?: string;
  readonly tokenFile?: string;
  /** Sent with writes. Random if it is absent. */
  readonly idempotencyKey?: string;
}

/** Calls the admin services. */
export interface ApiConnection {
  /** Where the services are. */
  readonly address: string;
  /**
   * Calls one method. Throws `RefusedError` if the service refuses, `UnreachableError` if no answer
   * of the service arrives.
   */
  call<M extends DescMethodUnary>(
    method: M,
    request: MessageShape<M["input"]>,
  ): Promise<MessageShape<M["output"]>>;
}

/**
 * Prepares a connection. Nothing is sent yet. Throws `UsageError` if the address or the token is
 * missing or malformed.
 */
export async function connect(
  terminal: Terminal,
  options: ConnectionOptions,
): Promise<ApiConnection> {
  const baseUrl = addressOf(options.url ?? (terminal.env.BILLING_ADMIN_URL || defaultUrl));
  const token = await tokenOf(terminal, options.tokenFile);
  const transport = createConnectTransport({ baseUrl, httpVersion: "1.1" });
  let writes = 0;
  return {
    address: baseUrl,
    call: async (method, request) => {
      const isWrite = operationOf(method).idempotencyKey !== "none";
      // A command that writes in several steps needs a key for each step, and the same keys when it
      // is repeated.
      const first = options.idempotencyKey;
      const key = first === undefined ? randomUUID() : writes === 0 ? first : `${first}.${writes}`;
      if (isWrite) writes += 1;
      const headers = {
        Authorization: `Bearer ${token}`,
        ...(isWrite ? { "Idempotency-Key": key } : {}),
      };
      try {
        return await unary(transport, method, headers, request);
      } catch (error) {
        throw failureOf(ConnectError.from(error), baseUrl, isWrite ? key : null);
      }
    },
  };
}

async function unary<M extends DescMethodUnary>(
  transport: Transport,
  method: M,
  headers: Record<string, string>,
  request: MessageShape<M["input"]>,
): Promise<MessageShape<M["output"]>> {
  const { message } = await transport.unary(method, undefined, timeoutMs, headers, request);
  return message as MessageShape<M["output"]>;
}

/** No message repeats what stands before an `@`, which may be a password. */
function addressOf(url: string): string {
  const shown = url.replace(/^.*@/s, "…@");
  const isAddress = /^https?:\/\//.test(url) && URL.canParse(url);
  if (!isAddress) throw new UsageError(`${shown} is not an address of the form http://host:port`);
  const { username, password } = new URL(url);
  if (username !== "" || password !== "")
    throw new UsageError(`${shown}: the address must have no user name and no password`);
  return url.replace(/\/+$/, "");
}

async function tokenOf(terminal: Terminal, file: string | undefined): Promise<string> {
  const { BILLING_OPERATOR_TOKEN: own, BILLING_OPERATOR_TOKEN_FILE: named } = terminal.env;
  if (file === undefined && own && named)
    throw new UsageError("Set one of BILLING_OPERATOR_TOKEN and BILLING_OPERATOR_TOKEN_FILE");
  const path = file ?? named;
  const token = (path ? await terminal.read(path) : (own ?? "")).trim();
  if (token === "")
    throw new UsageError(
      "Sign in with `billing login`, or set BILLING_OPERATOR_TOKEN to an operator's token",
    );
  // Other characters cannot be in a header, and the library's error would repeat the token.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new UsageError("The operator's token has characters that are not allowed in a token");
  return token;
}

function failureOf(error: ConnectError, baseUrl: string, idempotencyKey: string | null): Error {
  const [detail] = error.findDetails(ErrorDetailSchema);
  if (detail !== undefined) {
    const { code, message, param, requestId } = detail;
    return new RefusedError(code, message, param ?? null, requestId === "" ? null : requestId);
  }
  const isAway = error.code === Code.Unavailable || error.code === Code.DeadlineExceeded;
  const what = isAway ? "cannot be reached" : "does not answer as the billing admin service";
  const advice =
    isAway && idempotencyKey !== null
      ? "\nThe request may have arrived. To finish it without doing anything twice, repeat the " +
        `command with --idempotency-key ${idempotencyKey}`
      : "";
  return new UnreachableError(`${baseUrl} ${what}: ${error.rawMessage}${advice}`);
}
