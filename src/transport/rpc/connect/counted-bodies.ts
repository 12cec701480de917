/**
 * Counts the bytes that the library holds of a body until it is whole, by any protocol (LIMIT-4).
 * REST counts its own.
 */
import type { ContextValues } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import { tooManyUnfinished } from "../refusals.ts";

/** The count of a request, and the form of its error. */
interface CountedBodyParts {
  /** Records what the body holds. Returns false if that is too much. */
  readonly hold: (values: ContextValues | undefined, bytes: number) => boolean;
  /** Returns an error in the form that the library reports. */
  readonly reportError: (values: ContextValues | undefined, error: unknown) => Error;
}

/** Returns a handler that counts the bodies it reads. */
export function countBodies(handler: UniversalHandler, parts: CountedBodyParts): UniversalHandler {
  const counting = (request: UniversalServerRequest) =>
    handler({ ...request, body: counted(request, parts) });
  return Object.assign(counting, handler);
}

async function* counted(
  { body, contextValues }: UniversalServerRequest,
  { hold, reportError }: CountedBodyParts,
): AsyncIterable<Uint8Array> {
  let held = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      held += chunk.byteLength;
      if (!hold(contextValues, held)) throw reportError(contextValues, tooManyUnfinished());
      // A chunk would keep all that was read from the connection with it.
      yield new Uint8Array(chunk);
    }
  } finally {
    hold(contextValues, 0);
  }
}
