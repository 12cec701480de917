/** Follows the events of an organisation as they are published. */
import { setTimeout as pause } from "node:timers/promises";
import { EventService } from "../../../../../src/gen/proto/billing/admin/v1/events_pb.ts";
import type { Work } from "../../noun.ts";
import type { Json } from "../../output/message-json.ts";
import { listOf } from "../../output/words.ts";
import { pages } from "../../pages.ts";

/** The interval between two reads. Events are published about once a minute. */
const pollEveryMs = 2_000;

/** Events commit in a slightly different order than their instants, so some are read again. */
const overlapMs = 60_000;

/**
 * Yields events, oldest first, until the person stops the command: those since the request's
 * `since`, else those that are published from now on.
 */
export async function* followEvents({ terminal, connection, request }: Work): AsyncGenerator<Json> {
  const stopped = terminal.stopped();
  const { since: asked, ...filters } = request;
  let known = new Map<string, number>();
  let newest: number | null = null;
  let isShown = typeof asked === "string";
  do {
    const since = newest === null ? asked : instantOf(newest - overlapMs);
    const query: Json = since === undefined ? filters : { ...filters, since };
    const read: Json[] = [];
    for await (const page of pages(connection, EventService.method.listEvents, query)) {
      read.push(...listOf(page.data));
      // What was published before is not shown, so only what is read again has to be known.
      if (!isShown && createdOf(read.at(-1)) < createdOf(read[0]) - overlapMs) break;
    }
    const fresh = read.filter(({ id }) => !known.has(String(id)));
    for (const event of fresh) known.set(String(event.id), createdOf(event));
    if (known.size > 0) newest = Math.max(...known.values());
    const oldest = (newest ?? 0) - 2 * overlapMs;
    known = new Map([...known].filter(([, created]) => created >= oldest));
    if (isShown) yield* fresh.reverse();
    isShown = true;
    await pause(pollEveryMs, undefined, { signal: stopped }).catch(() => undefined);
  } while (!stopped.aborted);
}

const createdOf = (event: Json | undefined) => Date.parse(String(event?.created));
const instantOf = (ms: number) => new Date(ms).toISOString();
