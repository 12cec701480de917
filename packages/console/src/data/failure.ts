/** What an error means to a person: what is known, and whether something was done. */
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorDetailSchema } from "../gen/billing/v1/common_pb.ts";

/** An error in words. */
export interface Failure {
  readonly title: string;
  readonly message: string;
  /** The code of the page of documentation, absent if the service did not answer. */
  readonly code?: string;
  /** The field that is at fault. */
  readonly param?: string;
  readonly requestId?: string;
  /** Whether the request may have been done. */
  readonly isUnknown: boolean;
}

/** Whether the session has ended, or never began. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.Unauthenticated;
}

/** Whether the object does not exist. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.NotFound;
}

const titles: Partial<Record<Code, string>> = {
  [Code.Unauthenticated]: "You are signed out",
  [Code.PermissionDenied]: "Your role does not allow this",
  [Code.NotFound]: "There is no such object",
  [Code.ResourceExhausted]: "Too many requests",
  [Code.Aborted]: "Another request is in progress",
};

/** Returns the words for an error. `isWrite`: whether the request could have changed something. */
export function failureOf(error: unknown, isWrite: boolean): Failure {
  const problem = ConnectError.from(error);
  const [detail] = problem.findDetails(ErrorDetailSchema);
  if (detail === undefined) {
    return {
      title: "The service does not answer",
      message: isWrite
        ? "Whether it was done is not known. Trying again is safe: it is done at most once."
        : "It may be restarting, or the connection was lost.",
      isUnknown: isWrite,
    };
  }
  const isUnknown =
    isWrite && (problem.code === Code.Internal || /done or not/.test(detail.message));
  return {
    title: titles[problem.code] ?? "The service refused this",
    message: detail.message,
    code: detail.code,
    ...(detail.param !== undefined && { param: detail.param }),
    requestId: detail.requestId,
    isUnknown,
  };
}
