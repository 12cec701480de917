/**
 * The client: every method of the contract's services, under its own name. The names are those of
 * the operations in the OpenAPI document.
 */
import type {
  DescMessage,
  DescMethod,
  DescMethodUnary,
  DescService,
  Message,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { createConnectTransport } from "@connectrpc/connect-web";
import { type CallOptions, type CallSettings, call, type Retry } from "./call.ts";
import * as services from "./gen/services.ts";
import { type AnyPage, type List, listOf } from "./pages.ts";

/** The settings of a client. */
export interface ClientOptions {
  /** The service's address, such as `https://billing.example.com`. */
  readonly baseUrl: string;
  /** An API key of the organisation, `sk_live_…` or `sk_test_…`. Keep it out of browsers' pages. */
  readonly apiKey: string;
  /** How often a failed attempt is repeated at most; 4 by default, 0 for never. */
  readonly retries?: number;
  /** How long an attempt may take; 30,000 by default. A write waits for the ledger up to 15 s. */
  readonly timeoutMs?: number;
  /** Used instead of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** Called before the pause that precedes a repeat, to log it. */
  readonly onRetry?: (retry: Retry) => void;
}

type Services = typeof services;

/** An object of a list. The next page begins after the id of the last one. */
type Identified = { readonly id: string };

/** A request whose message has no fields may be left out. */
type Request<I extends DescMessage> = [keyof Omit<MessageShape<I>, keyof Message>] extends [never]
  ? [request?: MessageInitShape<I>, options?: CallOptions]
  : [request: MessageInitShape<I>, options?: CallOptions];

/** The method of a list returns its pages, any other method a promise of its answer. */
type Method<
  I extends DescMessage,
  O extends DescMessage,
> = "startingAfter" extends keyof MessageShape<I>
  ? MessageShape<O> extends AnyPage<infer Item extends Identified>
    ? (request?: MessageInitShape<I>, options?: CallOptions) => List<Item, MessageShape<O>>
    : Answering<I, O>
  : Answering<I, O>;
type Answering<I extends DescMessage, O extends DescMessage> = (
  ...args: Request<I>
) => Promise<MessageShape<O>>;

type MethodsOf<Service extends DescService> = {
  readonly [Name in keyof Service["method"]]: Service["method"][Name] extends DescMethodUnary<
    infer I,
    infer O
  >
    ? Method<I, O>
    : never;
};

type Intersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

/** All methods of the service. */
export type BillingClient = Intersection<
  { [Name in keyof Services]: MethodsOf<Services[Name]> }[keyof Services]
>;

/**
 * Returns a client. It opens no connection before its first call and needs no closing. Throws a
 * TypeError for an address or a key that cannot be used.
 */
export function createBillingClient(options: ClientOptions): BillingClient {
  const { baseUrl, retries = 4, timeoutMs = 30_000, fetch, onRetry = () => {} } = options;
  requireAddress(baseUrl);
  const apiKey = keyOf(options.apiKey);
  const transport = createConnectTransport({
    baseUrl: baseUrl.replace(/\/+$/, ""),
    ...(fetch === undefined ? {} : { fetch }),
  });
  const settings: CallSettings = { transport, apiKey, retries, timeoutMs, onRetry };
  const methods = Object.values<DescService>(services).flatMap((service) =>
    service.methods.filter(isUnary).map((method) => [method.localName, bind(settings, method)]),
  );
  // The names and types are those of the same descriptors.
  return Object.fromEntries(methods) as BillingClient;
}

/** No message repeats what stands before an `@`, which may be a password. */
function requireAddress(baseUrl: string): void {
  const shown = baseUrl.replace(/^.*@/s, "…@");
  const isAddress = URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol);
  if (!isAddress) throw new TypeError(`baseUrl is no http or https address: ${shown}`);
  const { username, password } = new URL(baseUrl);
  // `fetch` takes no such address, and its error would repeat the password.
  if (username !== "" || password !== "")
    throw new TypeError(`baseUrl must have no user name and no password: ${shown}`);
}

/** White space around a key is that of the file from which it was read. */
function keyOf(apiKey: string): string {
  const key = apiKey.trim();
  if (key === "") throw new TypeError("apiKey is empty");
  // Other characters cannot be in a header, and the error of `fetch` would repeat the key.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new TypeError("apiKey has characters that are not allowed in a key");
  return key;
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

type AnyRequest = MessageInitShape<DescMessage>;
type AnyMethod = (request?: AnyRequest, options?: CallOptions) => unknown;

function bind(settings: CallSettings, method: DescMethodUnary): AnyMethod {
  if (!isList(method))
    return (request = {}, options = {}) => call(settings, method, request, options);
  return (request = {}, options = {}) =>
    listOf(async (last) => {
      const next = last === undefined ? request : { ...request, startingAfter: last };
      return (await call(settings, method, next, options)) as Message & AnyPage<Identified>;
    });
}

/** The same condition as that of the type `Method`. */
function isList({ input, output }: DescMethod): boolean {
  const { data, hasMore } = output.field;
  if (input.field.startingAfter === undefined || hasMore === undefined) return false;
  return data?.fieldKind === "list" && data.message?.field.id !== undefined;
}
