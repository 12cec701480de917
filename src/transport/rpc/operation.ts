/**
 * The rules for calling a method, read once at start from the options of its proto
 * (billing/options/v1). Gate, transport and manual share them, so they cannot disagree.
 */
import {
  type DescField,
  type DescMethod,
  type DescMethodUnary,
  type DescService,
  getOption,
} from "@bufbuild/protobuf";
import {
  field as fieldOption,
  IdempotencyKeyRule,
  operation as operationOption,
} from "../../gen/proto/billing/options/v1/options_pb.ts";
import { http } from "../../gen/proto/google/api/annotations_pb.ts";

/** A method of the public contract with its rules. */
export interface Operation {
  /** `billing.v1.SubscriptionService/CreateSubscription`. */
  readonly name: string;
  readonly method: DescMethodUnary;
  /** The scope that a key needs, or null if any valid key may call (ACCESS-4). */
  readonly scope: string | null;
  /** Scopes of which a key needs one. Empty if `scope` decides (ACCESS-10). */
  readonly anyScope: readonly string[];
  readonly idempotencyKey: "none" | "optional" | "required";
  readonly successStatus: number;
  /** The status of a response with `rejected` above zero, or null. */
  readonly partialStatus: number | null;
  /** Whether an absent body is read as `{}`. */
  readonly bodyOptional: boolean;
  /** The REST path with its parameters, `/v1/subscriptions/{id}/units`, or the name without one. */
  readonly path: string;
  /** The fields of the response that are shown once and never stored. */
  readonly secrets: readonly DescField[];
}

function keyRule(rule: IdempotencyKeyRule): Operation["idempotencyKey"] {
  switch (rule) {
    case IdempotencyKeyRule.REQUIRED:
      return "required";
    case IdempotencyKeyRule.OPTIONAL:
      return "optional";
    default:
      return "none";
  }
}

/**
 * Returns the rules of one method. Throws if the method streams, because this API is unary
 * throughout.
 */
export function operationOf(method: DescMethod): Operation {
  if (method.methodKind !== "unary")
    throw new Error(`${method.parent.typeName}/${method.name} is not unary`);
  const option = getOption(method, operationOption);
  const { pattern } = getOption(method, http);
  return {
    name: `${method.parent.typeName}/${method.name}`,
    method: method as DescMethodUnary,
    scope: option.scope === "" ? null : option.scope,
    anyScope: option.anyScope,
    idempotencyKey: keyRule(option.idempotencyKey),
    successStatus: option.successStatus === 0 ? 200 : option.successStatus,
    partialStatus: option.partialStatus === 0 ? null : option.partialStatus,
    bodyOptional: option.bodyOptional,
    path:
      pattern.case === "get" || pattern.case === "post"
        ? pattern.value
        : `/${method.parent.typeName}/${method.name}`,
    secrets: method.output.fields.filter((field) => getOption(field, fieldOption).secret),
  };
}

/** Returns the rules of every method of the services, in the order of the proto files. */
export function operationsOf(services: readonly DescService[]): readonly Operation[] {
  return services.flatMap((service) => service.methods.map(operationOf));
}
