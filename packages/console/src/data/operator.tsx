/** The operator who is signed in, and what the role allows. */
import { createContext, use } from "react";
import { type Operator, OperatorRole } from "../gen/billing/admin/v1/operators_pb.ts";

const context = createContext<Operator | null>(null);

/** Gives the operator to everything inside. */
export const OperatorProvider = context.Provider;

/** Returns the operator who is signed in. */
export function useOperator(): Operator {
  const operator = use(context);
  if (operator === null) throw new Error("nobody is signed in");
  return operator;
}

/** Whether the operator may change something. The service refuses it all the same. */
export function useMayAct(): boolean {
  return useOperator().role !== OperatorRole.READ_ONLY;
}

/** Whether the operator may change operators and organisations. */
export function useIsOwner(): boolean {
  return useOperator().role === OperatorRole.OWNER;
}
