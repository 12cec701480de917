/**
 * The error answers of an operation: one response for each status, with its possible codes
 * (REQUEST-15).
 */
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import { type RefusalCode, refusals } from "../../src/domain/refusal.ts";
import type { DescribedOperation } from "./described-operation.ts";
import type { Refer } from "./field-schema.ts";
import { type HeaderName, headerRefs } from "./headers.ts";
import { responseExample, responseSchema } from "./message-schema.ts";
import { refusalTexts } from "./refusal-texts.ts";

/** The name of the envelope's schema. `Error` is a type of JavaScript and Java. */
export const errorSchemaName = "ErrorEnvelope";

/**
 * Returns the envelope `{error: {...}}`. Its member is the contract's ErrorDetail, with the values
 * of `type` listed.
 */
export function errorSchema(detail: DescMessage, refer: Refer): JsonObject {
  const member = responseSchema(detail, refer);
  const types = [...new Set(Object.values(refusals).map(({ type }) => type))];
  const { type, ...others } = member.properties as Record<string, JsonObject>;
  return {
    type: "object",
    description: "What every failed request answers.",
    properties: { error: { ...member, properties: { type: { ...type, enum: types }, ...others } } },
    required: ["error"],
  };
}

/** Returns the codes that an operation can answer, in the order of the table of refusals. */
export function operationCodes(operation: DescribedOperation): RefusalCode[] {
  const repeats = operation.idempotencyKey !== "none";
  const own = new Set<string>(operation.refusals);
  const codes = Object.keys(refusals) as RefusalCode[];
  for (const code of own)
    if (!(code in refusals)) throw new Error(`${code} is no row of the table of refusals`);
  const common: Partial<Record<RefusalCode, boolean>> = {
    invalid_api_key: true,
    insufficient_scope: operation.scope !== null || operation.anyScope.length > 0,
    unknown_endpoint: true,
    idempotency_conflict: repeats,
    request_in_progress: repeats,
    request_too_large: operation.http.hasBody,
    invalid_parameter: true,
    idempotency_key_required: operation.idempotencyKey === "required",
    rate_limited: true,
    internal_error: true,
    // Every operation first looks up the key in the database.
    temporarily_unavailable: true,
  };
  return codes.filter((code) => own.has(code) || common[code] === true);
}

/** Returns the address of a code's page. The pages are the files of `docs/errors`. */
export function errorPage(code: RefusalCode): string {
  return `/docs/errors/${code}`;
}

/** Returns the error responses by status. */
export function errorResponses(operation: DescribedOperation): JsonObject {
  const byStatus = Map.groupBy(operationCodes(operation), (code) => refusals[code].status);
  const statuses = [...byStatus.keys()].sort((left, right) => left - right);
  return Object.fromEntries(
    statuses.map((status) => [String(status), errorResponse(byStatus.get(status) ?? [])]),
  );
}

function errorResponse(codes: readonly RefusalCode[]): JsonObject {
  return {
    description: codes
      .map((code) => `[\`${code}\`](${errorPage(code)}): ${refusalTexts[code]}`)
      .join("\n\n"),
    headers: headerRefs(errorHeaders(codes)),
    content: {
      "application/json": {
        schema: { $ref: `#/components/schemas/${errorSchemaName}` },
        examples: Object.fromEntries(
          codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
        ),
      },
    },
  };
}

/**
 * Returns the examples of the responses, one for each of `codes`. `detail` is the contract's
 * ErrorDetail.
 */
export function errorExamples(codes: readonly RefusalCode[], detail: DescMessage): JsonObject {
  const { request_id } = responseExample(detail);
  return Object.fromEntries(
    [...new Set(codes)].sort().map((code) => {
      const error = {
        type: refusals[code].type,
        code,
        message: refusalTexts[code],
        request_id: request_id ?? "",
      };
      return [code, { value: { error } }];
    }),
  );
}

/** The refusals with `Retry-After`, the seconds until a retry (ACCESS-5, IDEMPOTENCY-4). */
export const retriedCodes: ReadonlySet<string> = new Set<RefusalCode>([
  "rate_limited",
  "request_in_progress",
  "temporarily_unavailable",
]);

/**
 * The rate is counted once the key is valid. Unknown endpoints and invalid keys are not counted
 * (ACCESS-5).
 */
function errorHeaders(codes: readonly RefusalCode[]): HeaderName[] {
  const counted = codes.some((code) => code !== "invalid_api_key" && code !== "unknown_endpoint");
  return [
    "Request-Id",
    ...(counted ? (["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const) : []),
    ...(codes.some((code) => retriedCodes.has(code)) ? (["Retry-After"] as const) : []),
    ...(codes.includes("invalid_api_key") ? (["WWW-Authenticate"] as const) : []),
  ];
}
