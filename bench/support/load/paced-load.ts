/**
 * Sends requests over HTTP/1.1 keep-alive connections from a separate process: at a rate, measured
 * from the intended start of each, or as fast as they are answered. Each request is written from a
 * template, with new keys and ids.
 */
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { readAnswers } from "../http-answers.ts";

/**
 * A kind of request. In the body each `%uuid%` becomes a new id, and `%count%` the number of times
 * that this template was sent before.
 */
export interface Template {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body: string | null;
}

/** The parameters of one run. Templates and keys are used in turn. */
export interface PacedParameters {
  readonly port: number;
  readonly templates: readonly Template[];
  readonly keys: readonly string[];
  readonly connections: number;
  readonly durationMs: number;
  /** Requests a second. Null means as many as are answered. */
  readonly perSecond: number | null;
  /** Ends the run after so many requests. */
  readonly most?: number;
}

/** The result of one run. */
export interface PacedResult {
  readonly answers: number;
  readonly failures: number;
  /** The first answer that is no success. */
  readonly failure: string | null;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
  /**
   * In how many moments of a tenth of a second the slowest hundredth began. A fault of the service
   * spreads them over the whole run, a pause of the machine has them all in one or two.
   */
  readonly slowMoments: number;
  /** The longest pause of this process. Requests that were due meanwhile count as slow. */
  readonly pauseMs: number;
}

/** A process that sends one run after the other. */
export interface PacedLoad {
  run(parameters: PacedParameters): Promise<PacedResult>;
  stop(): void;
}

/** Starts the process. */
export function startPacedLoad(): PacedLoad {
  // A client is on another machine. Linux shares processors among sessions first, and two loads in
  // one session would wait for each other.
  const options = { stdio: "inherit", detached: true } as const;
  const child: ChildProcess = fork(import.meta.filename, ["paced"], options);
  return {
    async run(parameters) {
      child.send(parameters);
      const [result] = (await once(child, "message")) as [PacedResult];
      return result;
    },
    stop: () => child.disconnect(),
  };
}

const momentMs = 100;

/** The state of a run over all its connections. */
interface Run {
  readonly parameters: PacedParameters;
  readonly beganMs: number;
  readonly took: { readonly fromMs: number; readonly tookMs: number }[];
  claimed: number;
  failures: number;
  failure: string | null;
}

/** Over all runs, so that a later run does not repeat a count. */
const sentOfTemplate = new Map<string, number>();
let sent = 0;

async function send(parameters: PacedParameters): Promise<PacedResult> {
  const counts = { claimed: 0, failures: 0, failure: null };
  const run: Run = { parameters, beganMs: performance.now(), took: [], ...counts };
  const pauses = monitorEventLoopDelay({ resolution: 5 });
  pauses.enable();
  await Promise.all(Array.from({ length: parameters.connections }, () => drive(run)));
  pauses.disable();
  const seconds = (performance.now() - run.beganMs) / 1_000;
  const sorted = run.took.toSorted((a, b) => a.tookMs - b.tookMs);
  const placeOf = (share: number) => Math.floor(sorted.length * share);
  const at = (share: number) => sorted[placeOf(share)]?.tookMs ?? Number.NaN;
  const slowest = sorted.slice(placeOf(0.99));
  return {
    answers: sorted.length,
    failures: run.failures,
    failure: run.failure,
    perSecond: sorted.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    worstMs: slowest.at(-1)?.tookMs ?? Number.NaN,
    slowMoments: new Set(slowest.map(({ fromMs }) => Math.floor(fromMs / momentMs))).size,
    pauseMs: pauses.max / 1e6,
  };
}

/** Drives one connection until the time is over and its last request is answered. */
function drive(run: Run): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { port, perSecond, durationMs, most = Number.POSITIVE_INFINITY } = run.parameters;
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  let fromMs = 0;
  const write = () => socket.write(nextRequest(run.parameters));
  const next = () => {
    // A free connection takes the earliest request that is still open. Its wait for a free
    // connection is part of its time.
    const number = run.claimed++;
    fromMs = perSecond === null ? performance.now() : run.beganMs + (1_000 * number) / perSecond;
    if (fromMs - run.beganMs >= durationMs || number >= most) {
      socket.end();
      return;
    }
    const waitMs = fromMs - performance.now();
    if (waitMs <= 0) {
      write();
      return;
    }
    setTimeout(() => {
      // A late timer is this process's own fault.
      fromMs = performance.now();
      write();
    }, waitMs);
  };
  socket.once("connect", next);
  readAnswers(socket, (head, body) => {
    run.took.push({ fromMs, tookMs: performance.now() - fromMs });
    if (!/^HTTP\/1\.1 20[01] /.test(head)) {
      run.failures++;
      run.failure ??= `${head}\n${body.toString("utf8", 0, 500)}`;
    }
    next();
  });
  socket.once("error", (error) => {
    run.failures++;
    run.failure ??= String(error);
  });
  socket.once("close", () => resolve());
  return promise;
}

function nextRequest({ templates, keys }: PacedParameters): string {
  const number = sent++;
  const template = templates[number % templates.length];
  if (template === undefined) throw new Error("a run needs templates");
  const { method, path } = template;
  const used = sentOfTemplate.get(path + template.body) ?? 0;
  sentOfTemplate.set(path + template.body, used + 1);
  const body = (template.body ?? "")
    .replaceAll("%uuid%", () => randomUUID())
    .replaceAll("%count%", String(used));
  const write = `Content-Type: application/json\r\nIdempotency-Key: ${randomUUID()}\r\n`;
  return (
    `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n` +
    `Authorization: Bearer ${keys[number % keys.length]}\r\n` +
    `${method === "POST" ? write : ""}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

if (process.argv[2] === "paced" && process.send !== undefined) {
  // A signal to the session of the bench does not reach this one.
  process.once("disconnect", () => process.exit());
  process.on("message", async (parameters: PacedParameters) =>
    process.send?.(await send(parameters)),
  );
}
