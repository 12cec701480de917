/**
 * Joins creations that arrive together. Each statement holds the organisation's counter of numbers
 * until its commit, so several would wait for each other in PostgreSQL (INVARIANT-2).
 */
import { type JoinedCall, joinCalls } from "../database/joined-calls.ts";
import type { CreationQuery, LoadedCreation } from "./create.ts";
import type { CreationSave, CreationToSave } from "./save-creation.ts";

/** Writes creations of an organisation. Rejects if one of several cannot be written. */
type SaveCreations = (
  organisationId: string,
  creations: readonly CreationToSave[],
) => Promise<readonly CreationSave[]>;

/** Writes one creation of an organisation. */
export type SaveCreation = JoinedCall<CreationToSave, CreationSave>;

/** Loads the facts of creations, in the order of the queries. */
type LoadCreations = (
  organisationId: string,
  queries: readonly CreationQuery[],
) => Promise<readonly LoadedCreation[]>;

/** Loads the facts of one creation of an organisation. */
export type LoadCreation = JoinedCall<CreationQuery, LoadedCreation>;

/** The most creations of a statement. Its rows are locked for milliseconds. */
const mostTogether = 25;

/**
 * An organisation's creations that wait in a process. They take a second or two to write.
 */
const mostWaiting = 1_000;

/**
 * How long further creations are collected after a statement of several. A statement and its commit
 * cost about as much as two creations in it. A single caller never waits.
 */
const collectMs = 5;

/**
 * Returns a save that joins. A creation that an earlier, failed statement has written after all is
 * found to exist.
 */
export function joinCreations(save: SaveCreations): SaveCreation {
  return joinCalls({ run: save, most: mostTogether, atOnce: 1, mostWaiting, collectMs });
}

/** Returns a read of facts that joins. */
export function joinLoads(load: LoadCreations): LoadCreation {
  return joinCalls({ run: load, most: mostTogether, atOnce: 2, mostWaiting });
}
