/**
 * The load that the contract admits: many organisations, each with the keys that a platform has. A
 * key has 120 requests a minute, so no organisation alone has many requests.
 */
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { addKeys, type MeasuredSystem } from "./system.ts";

/** With their keys, 1,200 requests a second: more than a run of single creations or lists uses. */
export const organisationCount = 300;

/** One for each of a platform's two processes. */
export const keysOfEach = 2;

/** An organisation with its keys. */
export interface Platform extends CreatedOrganisation {
  readonly keys: readonly string[];
}

/** Creates the organisations, each with its own tenant of the demo ledger. */
export async function addPlatforms(
  { pool, organisation }: Pick<MeasuredSystem, "pool" | "organisation">,
  kind: string,
): Promise<readonly Platform[]> {
  const platforms: Platform[] = [];
  for (let number = 0; number < organisationCount; number++) {
    const created = await organisation(`${kind} ${number}`);
    const keys = await addKeys(pool, created.organisationId, keysOfEach);
    platforms.push({ ...created, keys });
  }
  return platforms;
}
