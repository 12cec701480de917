/**
 * The checks of an operator's request before its body is read: token, role and the header
 * `Idempotency-Key`, in this order. It is the counterpart of `gate.ts` on the admin API, where no
 * rate is counted. REQUEST-1, ADMIN-1.
 */
import { Refusal } from "../../../domain/refusal.ts";
import type { OperatorAccess } from "../../../store/access/operator-tokens.ts";
import { isDatabaseUnreachable } from "../../../store/database/unreachable.ts";
import { type OperatorCaller, operatorRoles } from "../caller.ts";
import type { Operation } from "../operation.ts";
import { temporarilyUnavailable } from "../refusals.ts";
import { hashApiKey, isOperatorToken } from "./api-key.ts";
import type { Gate, SetHeader } from "./gate.ts";
import { type HeaderValue, readBearer, readIdempotencyKey } from "./gate-headers.ts";

/**
 * Creates the gate of operators. It refuses, in this order: `invalid_operator_token`,
 * `temporarily_unavailable` (the database cannot be reached), `insufficient_role`,
 * `idempotency_key_required`, `invalid_parameter`.
 */
export function createOperatorGate(access: OperatorAccess): Gate<OperatorCaller> {
  return {
    pass: async (operation, headers, requestId, setHeader) => {
      const caller = await admit(access, headers.authorization, setHeader);
      requireRole(operation, caller);
      const idempotencyKey = readIdempotencyKey(operation.idempotencyKey, headers.idempotencyKey);
      return { operation, caller, requestId, idempotencyKey };
    },
  };
}

async function admit(
  access: OperatorAccess,
  authorization: HeaderValue,
  setHeader: SetHeader,
): Promise<OperatorCaller> {
  const value = readBearer(authorization);
  if (value === null || !isOperatorToken(value)) throw invalidToken(setHeader);
  const operator = await access.admit(hashApiKey(value)).catch((error: unknown) => {
    throw isDatabaseUnreachable(error) ? temporarilyUnavailable(error) : error;
  });
  if (operator === null) throw invalidToken(setHeader);
  return operator;
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
