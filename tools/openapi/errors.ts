/** The error answers of an operation: one response for each status, with the codes that it can have. */
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import { type RefusalCode, refusals } from "../../src/domain/refusal.ts";
import type { DescribedOperation } from "./described-operation.ts";
import type { Refer } from "./field-schema.ts";
import { type HeaderName, headerRefs } from "./headers.ts";
import { responseExample, responseSchema } from "./message-schema.ts";
import { refusalTexts } from "./refusal-texts.ts";

/** The name of the envelope's schema: `Error` is a type of JavaScript and Java itself. */
export const errorSchemaName = "ErrorEnvelope";

/** The envelope `{error: {...}}`; its member is the contract's ErrorDetail, with the words of `type` spelt out. */
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

/** The codes that an operation can answer, in the order of the table of refusals. Decisions: section 1. */
export function operationCodes(operation: DescribedOperation): RefusalCode[] {
  const repeats = operation.idempotencyKey !== "none";
  const own = new Set<string>(operation.refusals);
  const codes = Object.keys(refusals) as RefusalCode[];
  for (const code of own) if (!(code in refusals)) throw new Error(`${code} is no row of the table of refusals`);
  const common: Partial<Record<RefusalCode, boolean>> = {
    invalid_api_key: true,
    insufficient_scope: operation.scope !== null,
    unknown_endpoint: true,
    idempotency_conflict: repeats,
    request_in_progress: repeats,
    request_too_large: operation.http.hasBody,
    invalid_parameter: true,
    idempotency_key_required: operation.idempotencyKey === "required",
    rate_limited: true,
    internal_error: true,
    // The key is looked up in the database for every operation, before anything else.
    temporarily_unavailable: true,
  };
  return codes.filter((code) => own.has(code) || common[code] === true);
}

/** The error responses by status. */
export function errorResponses(operation: DescribedOperation): JsonObject {
  const byStatus = Map.groupBy(operationCodes(operation), (code) => refusals[code].status);
  const statuses = [...byStatus.keys()].sort((left, right) => left - right);
  return Object.fromEntries(statuses.map((status) => [String(status), errorResponse(byStatus.get(status) ?? [])]));
}

function errorResponse(codes: readonly RefusalCode[]): JsonObject {
  return {
    description: codes.map((code) => `\`${code}\`: ${refusalTexts[code]}`).join("\n\n"),
    headers: headerRefs(errorHeaders(codes)),
    content: {
      "application/json": {
        schema: { $ref: `#/components/schemas/${errorSchemaName}` },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

/** The examples that the responses refer to, one for each of `codes`. `detail` is the contract's ErrorDetail. */
export function errorExamples(codes: readonly RefusalCode[], detail: DescMessage): JsonObject {
  const { request_id } = responseExample(detail);
  return Object.fromEntries(
    [...new Set(codes)].sort().map((code) => {
      const error = { type: refusals[code].type, code, message: refusalTexts[code], request_id: request_id ?? "" };
      return [code, { value: { error } }];
    }),
  );
}

/** Refused with the seconds after which to retry. Spec: Idempotency, Limits; decisions: section 1. */
export const retriedCodes: ReadonlySet<string> = new Set<RefusalCode>([
  "rate_limited",
  "request_in_progress",
  "temporarily_unavailable",
]);

/** The rate is counted once the key is known; unknown endpoints and bad keys are not. */
function errorHeaders(codes: readonly RefusalCode[]): HeaderName[] {
  const counted = codes.some((code) => code !== "invalid_api_key" && code !== "unknown_endpoint");
  return [
    "Request-Id",
    ...(counted ? (["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const) : []),
    ...(codes.some((code) => retriedCodes.has(code)) ? (["Retry-After"] as const) : []),
    ...(codes.includes("invalid_api_key") ? (["WWW-Authenticate"] as const) : []),
  ];
}
