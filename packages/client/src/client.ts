/**
 * The client: every operation of the OpenAPI document, under its own name. Requests and answers are
 * the JSON of the REST API, member by member.
 */
import {
  type Answer,
  type CallOptions,
  type CallSettings,
  call,
  type Operation,
  type Request,
  type Retry,
} from "./call.ts";
import { type BillingClient, operations } from "./gen/api.ts";
import { type AnyPage, listOf } from "./pages.ts";

/** The settings of a client. */
export interface ClientOptions {
  /** The service's address, such as `https://billing.example.com`. `undefined` is refused. */
  readonly baseUrl: string | undefined;
  /** An API key of the organisation, `sk_live_…` or `sk_test_…`. Keep it out of browsers' pages. */
  readonly apiKey: string | undefined;
  /** How often a failed attempt is repeated at most; 4 by default, 0 for never. */
  readonly retries?: number;
  /** How long an attempt may take; 30,000 by default. A write waits for the ledger up to 15 s. */
  readonly timeoutMs?: number;
  /** Used instead of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** Called before the pause that precedes a repeat, to log it. */
  readonly onRetry?: (retry: Retry) => void;
}

/**
 * Returns a client. It opens no connection before its first call and needs no closing. Throws a
 * TypeError for an address or a key that cannot be used.
 */
export function createBillingClient(options: ClientOptions): BillingClient {
  const { retries = 4, timeoutMs = 30_000, onRetry = () => {} } = options;
  const { fetch = (...args) => globalThis.fetch(...args) } = options;
  const baseUrl = addressOf(options.baseUrl);
  const apiKey = keyOf(options.apiKey);
  const settings: CallSettings = { baseUrl, apiKey, retries, timeoutMs, fetch, onRetry };
  const methods = Object.entries(operations).map(([name, operation]) => [
    name,
    bind(settings, name, operation),
  ]);
  // The names and types are those of the same document.
  return Object.fromEntries(methods) as BillingClient;
}

/** No message repeats what stands before an `@`, which may be a password. */
function addressOf(baseUrl: string | undefined): string {
  if (baseUrl === undefined) throw new TypeError("baseUrl is missing");
  const shown = baseUrl.replace(/^.*@/s, "…@");
  const isAddress = URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol);
  if (!isAddress) throw new TypeError(`baseUrl is no http or https address: ${shown}`);
  const { username, password, search, hash } = new URL(baseUrl);
  // `fetch` takes no such address, and its error would repeat the password.
  if (username !== "" || password !== "")
    throw new TypeError(`baseUrl must have no user name and no password: ${shown}`);
  if (search !== "" || hash !== "") throw new TypeError("baseUrl must have no query and no hash");
  return baseUrl.replace(/\/+$/, "");
}

/** White space around a key is that of the file from which it was read. */
function keyOf(apiKey: string | undefined): string {
  const key = apiKey?.trim() ?? "";
  if (key === "") throw new TypeError("apiKey is missing");
  // Other characters cannot be in a header, and the error of `fetch` would repeat the key.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new TypeError("apiKey has characters that are not allowed in a key");
  return key;
}

/** An object of a list. The next page begins after the id of the last one. */
type Identified = { readonly id: string };

type AnyMethod = (request?: Request, options?: CallOptions) => unknown;

function bind(settings: CallSettings, method: string, operation: Operation): AnyMethod {
  const answer = (request: Request, options: CallOptions): Promise<Answer> =>
    call(settings, method, operation, request, options);
  if (operation.kind !== "list") return (request = {}, options = {}) => answer(request, options);
  return (request = {}, options = {}) =>
    listOf(async (last) => {
      const next = last === undefined ? request : { ...request, starting_after: last };
      return (await answer(next, options)) as unknown as AnyPage<Identified>;
    });
}
