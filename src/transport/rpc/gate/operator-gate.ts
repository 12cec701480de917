/**
 * The checks of an operator's request before its body is read: token, role and the header
 * `Idempotency-Key`, in this order. It is the counterpart of `gate.ts` on the admin API, where no
 * rate is counted. REQUEST-1, ADMIN-1.
 */
import { Refusal } from "../../../domain/refusal.ts";
import type { OperatorAccess } from "../../../store/access/operator-tokens.ts";
import { type OperatorCaller, operatorRoles } from "../caller.ts";
import type { Operation } from "../operation.ts";
import { answered } from "../refusals.ts";
import { hashApiKey, isOperatorToken } from "./api-key.ts";
import {
  type ConsoleSite,
  consoleOriginOf,
  readSessionHash,
  requireOwnPage,
} from "./browser-requests.ts";
import {
  type Gate,
  type GateHeaders,
  type HeaderValue,
  type ReadHeader,
  readBearer,
  readIdempotencyKey,
  type SetHeader,
} from "./gate.ts";

/** The console, whose pages send a cookie and no token. */
interface ConsoleAccess {
  readonly site: ConsoleSite;
  readonly sessions: Pick<OperatorAccess, "admitSession" | "noteUse">;
  /** The methods, by name, that the console calls by itself. They are no use of a session. */
  readonly unattended: ReadonlySet<string>;
}

/**
 * Creates the gate of operators. It refuses, in this order: `untrusted_origin` (a cookie only),
 * `invalid_operator_token`, `temporarily_unavailable` (the database cannot be reached),
 * `insufficient_role`, `idempotency_key_required`, `invalid_parameter`. Without `console` a cookie
 * is not read.
 */
export function createOperatorGate(
  access: Pick<OperatorAccess, "admit">,
  console: ConsoleAccess | null = null,
): Gate<OperatorCaller> {
  return async (operation, headers, requestId, setHeader) => {
    const caller =
      (console && (await admitSession(console, operation, headers))) ??
      (await admit(access, headers.authorization, setHeader));
    requireRole(operation, caller);
    const idempotencyKey = readIdempotencyKey(operation.idempotencyKey, headers.idempotencyKey);
    return { operation, caller, requestId, idempotencyKey };
  };
}

async function admit(
  access: Pick<OperatorAccess, "admit">,
  authorization: HeaderValue,
  setHeader: SetHeader,
): Promise<OperatorCaller> {
  const value = readBearer(authorization);
  if (value === null || !isOperatorToken(value)) throw invalidToken(setHeader);
  const operator = await answered(access.admit(hashApiKey(value)));
  if (operator === null) throw invalidToken(setHeader);
  return operator;
}

/** Returns null for a request without the session's cookie. A token goes before it. ADMIN-18 */
async function admitSession(
  { site, sessions, unattended }: ConsoleAccess,
  operation: Operation,
  { authorization, other: read }: GateHeaders,
): Promise<OperatorCaller | null> {
  if (read === undefined || (authorization ?? null) !== null) return null;
  const hash = readSessionHash(site, read);
  if (hash === null) return null;
  requireOwnPage(site, read);
  requireConnect(read);
  const admitted = await answered(sessions.admitSession(hash));
  if (admitted === null) {
    throw new Refusal("invalid_operator_token", "The session has ended: sign in again");
  }
  const { sessionId, isUseDue, ...operator } = admitted;
  if (isUseDue && !unattended.has(operation.name)) await answered(sessions.noteUse(sessionId));
  return { ...operator, session: { id: sessionId, origin: consoleOriginOf(site, read) } };
}

/** No page of another site can send this header without being asked first. */
function requireConnect(read: ReadHeader): void {
  if (read("connect-protocol-version") === "1") return;
  throw new Refusal(
    "untrusted_origin",
    "A request by cookie needs the header Connect-Protocol-Version: 1",
  );
}

/**
 * One message for every cause, so that it never reveals which tokens existed. RFC 9110 requires the
 * challenge with a 401.
 */
function invalidToken(setHeader: SetHeader): Refusal {
  setHeader("WWW-Authenticate", "Bearer");
  return new Refusal(
    "invalid_operator_token",
    "The operator's token is missing, malformed, revoked or expired",
  );
}

/** The least powerful first. */
const roles: readonly (string | null)[] = operatorRoles;

/**
 * Refuses a caller without the method's role. A method of the admin API whose scope is missing or
 * is not a role is closed to all.
 */
function requireRole(operation: Operation, caller: OperatorCaller): void {
  const needed = roles.indexOf(operation.scope);
  if (needed !== -1 && roles.indexOf(caller.role) >= needed) return;
  throw new Refusal(
    "insufficient_role",
    `This needs the role ${operation.scope ?? "of nobody"}; yours is ${caller.role}`,
  );
}
