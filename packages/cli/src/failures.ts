/** The ways in which a command ends, each with an exit code for scripts. */

/** 0 done, 1 refused by the service, 2 wrong usage, 3 the service cannot be reached. */
export const exitCodes = { done: 0, refused: 1, usage: 2, unreachable: 3 } as const;

/** An exit code of the program. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/**
 * The service refused. Carries its code and message, the parameter at fault, and the request's id
 * to quote.
 */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly code: string;
  readonly param: string | null;
  readonly requestId: string | null;
  /** The fault of the parameter for a person, without its name. Null: the message says it. */
  readonly words: string | null;

  constructor(
    code: string,
    message: string,
    param: string | null = null,
    requestId: string | null = null,
    words: string | null = null,
  ) {
    super(message);
    this.code = code;
    this.param = param;
    this.requestId = requestId;
    this.words = words;
  }
}

/** The command was not used as its help says. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * No answer of the service arrived: nothing listens there, another service does, or the answer was
 * lost.
 */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

/**
 * The exit code of an error and the code that is written to the error output. `null` means a fault
 * of the program.
 */
export function terminationOf(
  error: unknown,
): { readonly exitCode: ExitCode; readonly code: string } | null {
  if (error instanceof RefusedError) return { exitCode: exitCodes.refused, code: error.code };
  if (error instanceof UsageError) return { exitCode: exitCodes.usage, code: "usage" };
  if (error instanceof UnreachableError)
    return { exitCode: exitCodes.unreachable, code: "unreachable" };
  return null;
}
