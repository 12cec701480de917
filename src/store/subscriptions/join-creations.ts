/**
 * Joins creations that arrive together: while a statement of an organisation writes, its further
 * creations wait, and the next statement writes them together. Each statement holds the
 * organisation's counter of numbers until its commit, so they would wait for each other in
 * PostgreSQL (INVARIANT-2).
 */
import { setTimeout as pause } from "node:timers/promises";
import { isDatabaseUnreachable } from "../access/api-keys.ts";
import { isTraced } from "../database/trace-context.ts";
import type { CreationSave, CreationToSave } from "./save-creation.ts";

/** Writes creations of an organisation. Rejects if one of several cannot be written. */
type SaveCreations = (
  organisationId: string,
  creations: readonly CreationToSave[],
) => Promise<readonly CreationSave[]>;

/** Writes one creation. */
export type SaveCreation = (
  organisationId: string,
  creation: CreationToSave,
) => Promise<CreationSave>;

/** The most creations of a statement. Its rows are locked for milliseconds. */
const mostTogether = 25;

/**
 * An organisation's creations that wait in a process. They take a second or two to write. One more
 * is refused as if the server had no connections left.
 */
const mostWaiting = 1_000;

/**
 * How long further creations are collected after a statement of several. A statement and its commit
 * cost about as much as two creations in it. A single caller never waits.
 */
const collectMs = 5;

/** A creation that waits for its statement. */
interface Waiting {
  readonly creation: CreationToSave;
  readonly answer: PromiseWithResolvers<CreationSave>;
}

/**
 * Returns a save that joins. A creation within a trace is written alone, because its job keeps the
 * trace of that one transaction.
 */
export function joinCreations(save: SaveCreations): SaveCreation {
  const queues = new Map<string, Waiting[]>();

  const run = async (organisationId: string, queue: Waiting[]): Promise<void> => {
    while (queue.length > 0) {
      const batch = queue.splice(0, mostTogether);
      await saveBatch(save, organisationId, batch);
      if (batch.length > 1 && queue.length < mostTogether) await pause(collectMs);
    }
    queues.delete(organisationId);
  };

  return async (organisationId, creation) => {
    if (isTraced()) return saveAlone(save, organisationId, creation);
    const waiting = { creation, answer: Promise.withResolvers<CreationSave>() };
    const queue = queues.get(organisationId);
    if (queue === undefined) {
      const own = [waiting];
      queues.set(organisationId, own);
      void run(organisationId, own);
    } else if (queue.length < mostWaiting) queue.push(waiting);
    else throw Object.assign(new Error("too many creations wait"), { code: "53300" });
    return waiting.answer.promise;
  };
}

async function saveAlone(
  save: SaveCreations,
  organisationId: string,
  creation: CreationToSave,
): Promise<CreationSave> {
  const [saved] = await save(organisationId, [creation]);
  if (saved === undefined) throw new Error("a creation has no result");
  return saved;
}

/**
 * Writes creations together. After a failure it writes each by itself, so that none fails for
 * another. What the failed statement has written after all is found to exist. If the database was
 * lost, all have failed for the same reason. Never rejects.
 */
async function saveBatch(
  save: SaveCreations,
  organisationId: string,
  batch: readonly Waiting[],
): Promise<void> {
  try {
    const saved = await save(
      organisationId,
      batch.map(({ creation }) => creation),
    );
    for (const [index, { answer }] of batch.entries()) answer.resolve(saved[index] ?? "changed");
  } catch (error) {
    if (batch.length === 1 || isDatabaseUnreachable(error)) {
      for (const { answer } of batch) answer.reject(error);
      return;
    }
    for (const { creation, answer } of batch)
      await saveAlone(save, organisationId, creation).then(answer.resolve, answer.reject);
  }
}
