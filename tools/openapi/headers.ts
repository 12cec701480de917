/** The headers of requests and responses (ACCESS-6, IDEMPOTENCY-1). */
import type { JsonObject } from "@bufbuild/protobuf";
import type { DescribedOperation } from "./described-operation.ts";

/** The response headers, as components of the document. */
export const headerComponents = {
  "Request-Id": {
    description: "The request's id; quote it when you report a problem. On every response.",
    required: true,
    schema: { type: "string" },
  },
  "RateLimit-Limit": {
    description:
      "How many requests a minute the key may make. Absent, with the next two, if the request " +
      "was refused before it was counted: a bad key, an unknown endpoint, a " +
      "`temporarily_unavailable` while keys cannot be read.",
    schema: { type: "integer", minimum: 1 },
    example: 120,
  },
  "RateLimit-Remaining": {
    description: "How many are left in the current window.",
    schema: { type: "integer", minimum: 0 },
    example: 119,
  },
  "RateLimit-Reset": {
    description: "The seconds until the oldest counted request stops counting.",
    schema: { type: "integer", minimum: 0 },
    example: 60,
  },
  "Retry-After": {
    description:
      "The seconds after which to retry. On `rate_limited`, `request_in_progress` and " +
      "`temporarily_unavailable`.",
    schema: { type: "integer", minimum: 1 },
    example: 2,
  },
  "WWW-Authenticate": {
    description: "The scheme that the API key is sent with.",
    required: true,
    schema: { type: "string", const: "Bearer" },
  },
  "Idempotent-Replayed": {
    description:
      "`true` where this is the stored response of an earlier request with the same key; " +
      "absent otherwise.",
    schema: { type: "string", const: "true" },
  },
} as const satisfies Record<string, JsonObject>;

/** The name of a response header. */
export type HeaderName = keyof typeof headerComponents;

/** Returns the `headers` member of a response: references to the components. */
export function headerRefs(names: readonly HeaderName[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Returns the headers of a success. */
export function successHeaders({ idempotencyKey }: DescribedOperation): HeaderName[] {
  const counted: HeaderName[] = [
    "Request-Id",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
  ];
  return idempotencyKey === "none" ? counted : [...counted, "Idempotent-Replayed"];
}

/** Returns the parameter for the header `Idempotency-Key`. */
export function idempotencyKeyParameter(required: boolean): JsonObject {
  return {
    name: "Idempotency-Key",
    in: "header",
    required,
    description:
      "Makes a retry safe: a repeat with the same key and request within 24 hours returns the " +
      "first response and does nothing twice. 1 to 255 printable ASCII characters, no spaces; " +
      "each API key has its own.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
    example: "order-1881-attempt",
  };
}
