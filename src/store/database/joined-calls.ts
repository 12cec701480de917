/**
 * Joins calls of one process into statements: those that arrive together, or while as many
 * statements run as may, are answered by the next one. A statement and its commit cost about as
 * much as several calls within it. A single caller never waits.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createShortLivedMap } from "../../short-lived.ts";
import { isTraced } from "./trace-context.ts";
import { isDatabaseUnreachable } from "./unreachable.ts";

/** How the calls of a group are joined. A group is an organisation. */
interface Joining<Call, Answer> {
  /**
   * Answers calls in their order. After a rejection each call is tried by itself, so that none
   * fails for another. If the database was lost, all have failed for the same reason.
   */
  readonly run: (group: string, calls: readonly Call[]) => Promise<readonly Answer[]>;
  /** The most calls of a statement. */
  readonly most: number;
  /** The most statements of a group that run at the same time. */
  readonly atOnce: number;
  /** A group's calls that wait. One more is refused as if the server had no connections left. */
  readonly mostWaiting: number;
  /** How long further calls are collected after a statement of several. */
  readonly collectMs?: number;
}

/** Makes one call of a group. Rejects as it would if it were made alone. */
export type JoinedCall<Call, Answer> = (group: string, call: Call) => Promise<Answer>;

interface Waiting<Call, Answer> {
  readonly call: Call;
  readonly answer: PromiseWithResolvers<Answer>;
}

interface Group<Call, Answer> {
  readonly waiting: Waiting<Call, Answer>[];
  running: number;
}

/**
 * Returns a call that joins. A call within a trace is made alone, because its statement belongs to
 * that trace.
 */
export function joinCalls<Call, Answer>({
  run,
  most,
  atOnce,
  mostWaiting,
  collectMs = 0,
}: Joining<Call, Answer>): JoinedCall<Call, Answer> {
  const groups = createShortLivedMap<Group<Call, Answer>>();

  const callAlone = async (group: string, call: Call): Promise<Answer> => {
    const [answer] = await run(group, [call]);
    return answer as Answer;
  };

  /** Never rejects. */
  const callTogether = async (
    group: string,
    joined: readonly Waiting<Call, Answer>[],
  ): Promise<void> => {
    try {
      const answers = await run(
        group,
        joined.map(({ call }) => call),
      );
      for (const [index, { answer }] of joined.entries()) answer.resolve(answers[index] as Answer);
    } catch (error) {
      if (joined.length === 1 || isDatabaseUnreachable(error)) {
        for (const { answer } of joined) answer.reject(error);
        return;
      }
      for (const { call, answer } of joined)
        await callAlone(group, call).then(answer.resolve, answer.reject);
    }
  };

  /** Runs one statement after the other while calls wait. */
  const work = async (name: string, group: Group<Call, Answer>): Promise<void> => {
    while (group.waiting.length > 0) {
      const joined = group.waiting.splice(0, most);
      await callTogether(name, joined);
      if (collectMs > 0 && joined.length > 1 && group.waiting.length < most) await pause(collectMs);
    }
    group.running -= 1;
    if (group.running === 0) groups.delete(name);
  };

  const openGroup = (name: string): Group<Call, Answer> => {
    const open = groups.get(name);
    if (open !== undefined) return open;
    const group = { waiting: [], running: 0 };
    groups.set(name, group);
    return group;
  };

  return async (name, call) => {
    if (isTraced()) return callAlone(name, call);
    const group = openGroup(name);
    if (group.waiting.length >= mostWaiting)
      throw Object.assign(new Error("too many calls wait to be joined"), { code: "53300" });
    const waiting = { call, answer: Promise.withResolvers<Answer>() };
    group.waiting.push(waiting);
    if (group.running < atOnce && group.waiting.length === 1) {
      group.running += 1;
      // What arrives in the same iteration of the event loop goes together.
      setImmediate(() => void work(name, group));
    }
    return waiting.answer.promise;
  };
}
