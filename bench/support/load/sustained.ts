/** The rate of requests of one kind that the service sustains, and what fails a run. */
import assert from "node:assert/strict";
import type { MeasuredSystem } from "../system.ts";
import type { GrownTenant, RequestKind, Requests } from "./grown-tenant.ts";
import type { PacedLoad, PacedResult } from "./paced-load.ts";

/** How long the sustained rate is measured. */
const sustainedMs = 4_000;

/**
 * How long requests are sent before. V8 compiles a function again at its ten-thousandth call or so.
 * Those that each request calls once are then compiled together: 150 functions in half a second,
 * on both processors, once in the life of a process.
 */
export const warmUpMs = 20_000;

/** Connections of a load. Creations wait for the ledger, so fewer would leave both cores idle. */
const connections = 32;

/** What a run of one tenant's requests needs. */
export interface LoadedTenant {
  readonly system: MeasuredSystem;
  readonly load: PacedLoad;
  readonly tenant: GrownTenant;
  readonly requests: Requests;
}

/** How a run ends, and its rate if it has one. */
export interface Pace {
  readonly durationMs: number;
  readonly perSecond: number | null;
  readonly most?: number;
  readonly connections?: number;
}

/** Sends requests of one kind. Rejects if one fails. */
export async function sendRequests(
  { system, load, tenant, requests }: LoadedTenant,
  kind: RequestKind,
  pace: Pace,
): Promise<PacedResult> {
  const result = await load.run({
    port: Number(new URL(system.baseUrl).port),
    templates: requests[kind],
    keys: tenant.keys,
    connections,
    ...pace,
  });
  assert.equal(result.failures, 0, `${kind}: ${result.failure}`);
  return result;
}

/** Returns the requests a second that are answered if the next follows each answer. */
export async function sustainedRate(loaded: LoadedTenant, kind: RequestKind): Promise<number> {
  const pace = { durationMs: sustainedMs, perSecond: null };
  await sendRequests(loaded, kind, { ...pace, durationMs: warmUpMs });
  return (await sendRequests(loaded, kind, pace)).perSecond;
}
