/**
 * The checks before a request's body is read: key, rate, scope, permission and the header
 * `Idempotency-Key`. The order is the same for REST, Connect and gRPC. REQUEST-1, ACCESS-3,
 * ACCESS-5.
 */
import { crashPoint } from "../../../crash-points.ts";
import { Refusal } from "../../../domain/refusal.ts";
import type { Access, RateWindow } from "../../../store/access/api-keys.ts";
import type { Caller, Principal } from "../caller.ts";
import type { Operation } from "../operation.ts";
import { answered } from "../refusals.ts";
import { hashApiKey, isApiKey } from "./api-key.ts";

/**
 * A header as sent: absent, once, or several times. Repeats joined by a comma and a space count as
 * several too.
 */
export type HeaderValue = string | readonly string[] | null | undefined;

/** The headers that the gate checks. */
export interface GateHeaders {
  readonly authorization?: HeaderValue;
  readonly idempotencyKey?: HeaderValue;
  /** Reads any other header by its name in lower case. Absent where no browser is expected. */
  readonly other?: ReadHeader;
}

/** Returns a header as it was sent. */
export type ReadHeader = (name: string) => HeaderValue;

/**
 * Sets a header of the response and replaces one of the same name. It also works for a response
 * that refuses.
 */
export type SetHeader = (name: string, value: string) => void;

/** An admitted request. Its body is read next, and then `call` runs it. */
export interface Pass<C extends Principal = Caller> {
  readonly operation: Operation;
  readonly caller: C;
  readonly requestId: string;
  /** Null if none was sent, or if the operation ignores it (reads). */
  readonly idempotencyKey: string | null;
}

/**
 * The gate. `createGate` creates the one of API keys, `createOperatorGate` the one of operators. It
 * admits a request or throws the first of: `invalid_api_key`, `temporarily_unavailable` (the
 * database cannot be reached), `rate_limited`, `insufficient_scope`, `idempotency_key_required`,
 * `invalid_parameter`. From the rate check on, the response has the `RateLimit-*` headers
 * (ACCESS-6).
 */
export type Gate<C extends Principal = Caller> = (
  operation: Operation,
  headers: GateHeaders,
  requestId: string,
  setHeader: SetHeader,
) => Promise<Pass<C>>;

/** The dependencies of the gate. */
interface GateParts {
  readonly access: Access;
  /**
   * Returns the message of the 403 if the organisation or the kind of key forbids the operation,
   * else null (ACCESS-3).
   */
  readonly permits: (operation: Operation, caller: Caller) => string | null;
}

/** Creates the gate of API keys. */
export function createGate({ access, permits }: GateParts): Gate {
  return async (operation, headers, requestId, setHeader) => {
    const caller = await admit(access, headers.authorization, setHeader);
    requireScope(operation, caller);
    const forbidden = permits(operation, caller);
    if (forbidden !== null) throw new Refusal("insufficient_scope", forbidden);
    const idempotencyKey = readIdempotencyKey(operation.idempotencyKey, headers.idempotencyKey);
    crashPoint("admitted");
    return { operation, caller, requestId, idempotencyKey };
  };
}

function requireScope({ scope, anyScope }: Operation, { scopes }: Caller): void {
  if (scope !== null && !scopes.has(scope))
    throw new Refusal("insufficient_scope", `The API key lacks the scope ${scope}`);
  if (anyScope.length > 0 && !anyScope.some((one) => scopes.has(one))) {
    const message = `The API key has none of the scopes ${anyScope.join(", ")}`;
    throw new Refusal("insufficient_scope", message);
  }
}

async function admit(
  access: Access,
  authorization: HeaderValue,
  setHeader: SetHeader,
): Promise<Caller> {
  const value = readBearer(authorization);
  if (value === null || !isApiKey(value)) throw invalidApiKey(setHeader);
  const admission = await answered(access.admit(hashApiKey(value)));
  if (admission.kind === "unknown") throw invalidApiKey(setHeader);
  setRateHeaders(admission.rate, setHeader);
  if (admission.kind === "limited") {
    const { limit, resetSeconds } = admission.rate;
    const message = `More than ${limit} requests in 60 seconds; retry in ${resetSeconds} s`;
    throw new Refusal("rate_limited", message, null, resetSeconds);
  }
  return { ...admission.key, scopes: new Set(admission.key.scopes) };
}

/**
 * One message for every cause, so that it never reveals which keys existed. RFC 9110 requires the
 * challenge with a 401.
 */
function invalidApiKey(setHeader: SetHeader): Refusal {
  setHeader("WWW-Authenticate", "Bearer");
  return new Refusal("invalid_api_key", "The API key is missing, malformed, revoked or expired");
}

function setRateHeaders(rate: RateWindow, setHeader: SetHeader): void {
  setHeader("RateLimit-Limit", String(rate.limit));
  setHeader("RateLimit-Remaining", String(rate.remaining));
  setHeader("RateLimit-Reset", String(rate.resetSeconds));
}

/**
 * Returns the credential after `Bearer`, or null (ACCESS-1). The scheme matches in any case (RFC
 * 9110, 11.1), the credential does not.
 */
export function readBearer(header: HeaderValue): string | null {
  return typeof header === "string" ? (/^bearer +(\S+)$/i.exec(header)?.[1] ?? null) : null;
}

/**
 * 1 to 255 printable ASCII characters without spaces (IDEMPOTENCY-1). A list joined by ", " is
 * malformed as well.
 */
const idempotencyKeyForm = /^[\x21-\x7e]{1,255}$/;

/**
 * Returns the key that was sent, or null if there is none or the operation ignores it. Refuses
 * `idempotency_key_required`, `invalid_parameter`.
 */
export function readIdempotencyKey(
  rule: Operation["idempotencyKey"],
  header: HeaderValue,
): string | null {
  if (rule === "none") return null;
  if (header === undefined || header === null) {
    if (rule === "optional") return null;
    throw new Refusal(
      "idempotency_key_required",
      "This request needs the header Idempotency-Key",
      "Idempotency-Key",
    );
  }
  if (typeof header === "string" && idempotencyKeyForm.test(header)) return header;
  const message =
    "The header Idempotency-Key must be sent once, with 1 to 255 printable ASCII characters " +
    "and no space";
  throw new Refusal("invalid_parameter", message, "Idempotency-Key");
}
