/**
 * Reports usage over HTTP/1.1 keep-alive connections, in a separate process and as cheaply as
 * possible. Bodies are copied and only their ids are written. Of an answer only its head and its
 * counts are read. A run is closed (each connection sends again once it is answered) or at a rate.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { readAnswers } from "./http-answers.ts";
import type { Batch } from "./usage-batches.ts";
import { writeId } from "./usage-ids.ts";

/** Consecutive serial numbers of batches. Each stands for one batch and its ids. */
export interface Serials {
  readonly first: number;
  readonly count: number;
}

/** The parameters of one run of reports. */
interface UsageLoadParameters {
  readonly port: number;
  /**
   * API keys by organisation. They are used in turn, because the rate limit holds for each key.
   * ACCESS-5
   */
  readonly keys: readonly (readonly string[])[];
  /** Sent in turn, by serial number. */
  readonly batches: readonly Batch[];
  /** The serial number of the first batch. */
  readonly first: number;
  /**
   * How many of a hundred events were stored before, and in which batches. `batches` must be the
   * same as then.
   */
  readonly duplicates: { readonly ofHundred: number; readonly stored: Serials } | null;
  readonly connections: number;
  readonly durationMs: number;
  /** Requests a second. Null means as many as are answered. */
  readonly perSecond: number | null;
}

/** The result of one run, by the service's answers. */
export interface UsageLoadResult {
  /** The batches that were sent. All of them are answered. */
  readonly sent: Serials;
  /** Answers with 200. */
  readonly answers: number;
  readonly failures: number;
  /** The first answer that was not 200, or the error of a connection. Null if nothing failed. */
  readonly failure: string | null;
  readonly created: number;
  readonly duplicates: number;
  /** Events that the service must report as duplicates. */
  readonly resent: number;
  readonly elapsedMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A process that generates load, one run after the other. */
export interface UsageLoad {
  /** The process id, to leave out its processor time. */
  readonly pid: number;
  run(parameters: UsageLoadParameters): Promise<UsageLoadResult>;
  stop(): void;
}

/** The most events of a batch. Ids of different serial numbers never overlap. */
export const batchSize = 100;

/** Starts the load generator. */
export function startUsageLoad(): UsageLoad {
  const child: ChildProcess = fork(import.meta.filename, ["load"], { stdio: "inherit" });
  return {
    pid: child.pid ?? 0,
    async run(parameters) {
      child.send(parameters);
      const [result] = (await once(child, "message")) as [UsageLoadResult];
      return result;
    },
    stop: () => child.disconnect(),
  };
}

/** Whether an event is one of the duplicates. They are spread evenly over a batch. */
export function isResent(position: number, ofHundred: number): boolean {
  return (position * ofHundred) % 100 < ofHundred;
}

/** A batch's events as they are sent, with their count of duplicates. */
interface Filled {
  readonly organisation: number;
  readonly body: Buffer;
  readonly resent: number;
}

/** Fills batches one after the other. */
function filler({ batches, first, duplicates }: UsageLoadParameters): (index: number) => Filled {
  const bodies = batches.map(({ body }) => Buffer.from(body, "latin1"));
  return (index) => {
    const fresh = first + index;
    const old =
      duplicates === null ? fresh : duplicates.stored.first + (index % duplicates.stored.count);
    const ofHundred = duplicates?.ofHundred ?? 0;
    const place = old % batches.length;
    const batch = batches[place];
    const template = bodies[place];
    if (batch === undefined || template === undefined) throw new Error("a run needs batches");
    const body = Buffer.allocUnsafe(template.length);
    template.copy(body);
    let resent = 0;
    for (const [position, at] of batch.idsAt.entries()) {
      const isOld = isResent(position, ofHundred);
      if (isOld) resent++;
      writeId(body, at, (isOld ? old : fresh) * batchSize + position);
    }
    return { organisation: batch.organisation, body, resent };
  };
}

/** The counts over all connections of a run. */
interface Counts {
  readonly tookMs: number[];
  /** How many requests of the schedule are taken by a connection. */
  claimed: number;
  sent: number;
  failures: number;
  failure: string | null;
  created: number;
  duplicates: number;
  resent: number;
}

/** By organisation and over all runs, so that all keys are used equally. */
const keysUsed: number[] = [];

async function generateLoad(parameters: UsageLoadParameters): Promise<UsageLoadResult> {
  const none = { claimed: 0, sent: 0, failures: 0, created: 0, duplicates: 0, resent: 0 };
  const counts: Counts = { tookMs: [], failure: null, ...none };
  const fill = filler(parameters);
  const beganMs = performance.now();
  await Promise.all(
    Array.from({ length: parameters.connections }, () => drive(parameters, beganMs, fill, counts)),
  );
  const elapsedMs = performance.now() - beganMs;
  const { tookMs, sent, failures, failure, created, duplicates, resent } = counts;
  tookMs.sort((a, b) => a - b);
  const at = (share: number) => tookMs[Math.floor(tookMs.length * share)] ?? Number.NaN;
  return {
    sent: { first: parameters.first, count: sent },
    answers: tookMs.length,
    ...{ failures, failure, created, duplicates, resent, elapsedMs },
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

/** Drives one connection until the time is over and its last request is answered. */
function drive(
  parameters: UsageLoadParameters,
  beganMs: number,
  fill: (index: number) => Filled,
  counts: Counts,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { perSecond, durationMs } = parameters;
  const socket = connect({ host: "127.0.0.1", port: parameters.port, noDelay: true });
  let fromMs = 0;
  const send = () => {
    const { organisation, body, resent } = fill(counts.sent++);
    counts.resent += resent;
    write(socket, nextKey(parameters, organisation), body);
  };
  const next = () => {
    // A free connection takes the earliest request that is still open. The wait of a request for a
    // free connection is part of its time.
    fromMs =
      perSecond === null ? performance.now() : beganMs + (1_000 * counts.claimed++) / perSecond;
    if (fromMs - beganMs >= durationMs) {
      socket.end();
      return;
    }
    const waitMs = fromMs - performance.now();
    if (waitMs <= 0) {
      send();
      return;
    }
    setTimeout(() => {
      // A late timer is this process's own fault.
      fromMs = performance.now();
      send();
    }, waitMs);
  };
  socket.once("connect", next);
  readAnswers(socket, (head, body) => {
    const tookMs = performance.now() - fromMs;
    if (count(head, body, counts)) counts.tookMs.push(tookMs);
    next();
  });
  socket.once("error", (error) => {
    counts.failures++;
    counts.failure ??= String(error);
  });
  socket.once("close", () => resolve());
  return promise;
}

function nextKey({ keys }: UsageLoadParameters, organisation: number): string {
  const among = keys[organisation] ?? [];
  const used = keysUsed[organisation] ?? 0;
  keysUsed[organisation] = used + 1;
  return among[used % among.length] ?? "";
}

function write(socket: Socket, key: string, body: Buffer): void {
  socket.cork();
  socket.write(
    `POST /v1/usage_events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    "latin1",
  );
  socket.write(body);
  socket.uncork();
}

/** The counts precede the results. */
const countsBegin =
  /^\{"object":"usage_event_batch","created":(\d+),"duplicates":(\d+),"rejected":(\d+),/;
const countsLength = 120;

/** Whether the answer is correct: every event is stored, now or before. */
function count(head: string, body: Buffer, counts: Counts): boolean {
  const counted = countsBegin.exec(body.toString("latin1", 0, countsLength));
  counts.created += Number(counted?.[1] ?? 0);
  counts.duplicates += Number(counted?.[2] ?? 0);
  if (head.startsWith("HTTP/1.1 200 ") && counted?.[3] === "0") return true;
  counts.failures++;
  counts.failure ??= `${head}\n\n${body.toString("utf8", 0, 1_000)}`;
  return false;
}

if (process.argv[2] === "load" && process.send !== undefined) {
  process.on("message", async (parameters: UsageLoadParameters) =>
    process.send?.(await generateLoad(parameters)),
  );
}
