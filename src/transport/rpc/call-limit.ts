/**
 * Limits the calls that a process carries out at once, in all and of one organisation (LIMIT-3).
 * Nothing waits here: a call over a limit is refused, and its client repeats it.
 */
import { Refusal } from "../../domain/refusal.ts";
import { createPlaces } from "../places.ts";

/** Runs a call of an organisation or an operator, or refuses it. */
type LimitCalls = <T>(callerId: string, run: () => Promise<T>) => Promise<T>;

/** How many calls are in progress at once. */
interface CallLimits {
  readonly max: number;
  readonly maxOfCaller: number;
  /** The message of the refusal. */
  readonly tooBusyText: string;
}

/**
 * The limits of the public API. A call may wait 15 seconds for its ledger, without a database
 * connection. An organisation may have as many as one key may send in a minute, 120, so that a dead
 * ledger does not refuse its reads. Twenty such organisations leave 600 calls to the others. An
 * open request has 12 KB and the largest message some 20 KB, so all calls stay below 100 MB. A
 * statement waits for its connection in the pool's queue.
 */
export const publicCallLimits: CallLimits = {
  max: 3_000,
  maxOfCaller: 120,
  tooBusyText: "Too many requests are in progress; please retry",
};

/** Creates the limit of a process. */
export function createCallLimit({ max, maxOfCaller, tooBusyText }: CallLimits): LimitCalls {
  const enter = createPlaces<string>({ inAll: max, ofOne: maxOfCaller });
  return async (callerId, run) => {
    const leave = enter(callerId);
    if (leave === null) throw new Refusal("temporarily_unavailable", tooBusyText, null, 1);
    try {
      return await run();
    } finally {
      leave();
    }
  };
}
