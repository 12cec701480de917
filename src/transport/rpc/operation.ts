/**
 * What a method's descriptor says about how it may be called: read once at start from the options of its proto
 * (billing/options/v1), so that gate, gateway and manual cannot disagree.
 */
import { type DescMethod, type DescMethodUnary, type DescService, getOption } from "@bufbuild/protobuf";
import { IdempotencyKeyRule, operation as operationOption } from "../../gen/proto/billing/options/v1/options_pb.ts";

/** A method of the public contract with its rules. */
export interface Operation {
  /** `billing.v1.SubscriptionService/CreateSubscription`. */
  readonly name: string;
  readonly method: DescMethodUnary;
  /** The scope a key needs, or null where any valid key will do. Spec: Authentication. */
  readonly scope: string | null;
  readonly idempotencyKey: "none" | "optional" | "required";
  readonly successStatus: number;
  /** The status where the response's `rejected` is above zero, or null. */
  readonly partialStatus: number | null;
  /** An absent body is read as `{}`. */
  readonly bodyOptional: boolean;
  /** No implementation yet: Connect answers Unimplemented, REST has no such path. */
  readonly planned: boolean;
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

/** The rules of one method. Throws where the method streams: this API is unary throughout. */
export function operationOf(method: DescMethod): Operation {
  if (method.methodKind !== "unary") throw new Error(`${method.parent.typeName}/${method.name} is not unary`);
  const option = getOption(method, operationOption);
  return {
    name: `${method.parent.typeName}/${method.name}`,
    method: method as DescMethodUnary,
    scope: option.scope === "" ? null : option.scope,
    idempotencyKey: keyRule(option.idempotencyKey),
    successStatus: option.successStatus === 0 ? 200 : option.successStatus,
    partialStatus: option.partialStatus === 0 ? null : option.partialStatus,
    bodyOptional: option.bodyOptional,
    planned: option.planned,
  };
}

/** The rules of every method of the given services, in the order of the proto files. */
export function jobsOf(services: readonly DescService[]): readonly Operation[] {
  return services.flatMap((service) => service.methods.map(operationOf));
}
