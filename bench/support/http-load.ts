/**
 * Generates load over HTTP/1.1 keep-alive connections, in a separate process so that it takes no
 * time from the server's. It does only what a client must: it sends the next request as soon as the
 * answer is whole.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { readAnswers } from "./http-answers.ts";

/** The parameters of one run of load. */
interface LoadParameters {
  readonly port: number;
  /** Whole requests, head and body, sent in turn. */
  readonly requests: readonly string[];
  /** The status that every answer must have. */
  readonly status: number;
  readonly connections: number;
  readonly durationMs: number;
  /**
   * Whether the client sleeps while it waits. Servers of several processes need the core that
   * staying awake takes.
   */
  readonly sleeps?: boolean;
}

/** The result of one run. */
export interface LoadResult {
  /** Answers with the right status. */
  readonly answers: number;
  /** All other answers, and broken connections. */
  readonly failures: number;
  readonly elapsedMs: number;
  /** The 50th and 99th percentile of the requests' durations, in milliseconds. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A process that generates load, one run after the other. */
export interface HttpLoad {
  /** The process id, to leave out its processor time. */
  readonly pid: number;
  run(parameters: LoadParameters): Promise<LoadResult>;
  stop(): void;
}

/** Starts the load generator. */
export function startHttpLoad(): HttpLoad {
  const child: ChildProcess = fork(import.meta.filename, ["load"], { stdio: "inherit" });
  return {
    pid: child.pid ?? 0,
    async run(parameters) {
      child.send(parameters);
      const [result] = (await once(child, "message")) as [LoadResult];
      return result;
    },
    stop: () => child.disconnect(),
  };
}

async function generateLoad(parameters: LoadParameters): Promise<LoadResult> {
  const startedMs = performance.now();
  const endMs = startedMs + parameters.durationMs;
  const tookMs: number[] = [];
  // Waking a sleeping client costs the server 20 µs a response. That would count as the server's
  // own work.
  let awake = parameters.sleeps !== true;
  const stayAwake = () => {
    if (awake) setImmediate(stayAwake);
  };
  stayAwake();
  const failures = await Promise.all(
    Array.from({ length: parameters.connections }, () => drive(parameters, endMs, tookMs)),
  );
  const elapsedMs = performance.now() - startedMs;
  awake = false;
  tookMs.sort((a, b) => a - b);
  const at = (share: number) => tookMs[Math.floor(tookMs.length * share)] ?? Number.NaN;
  const failed = failures.reduce((sum, count) => sum + count, 0);
  return { answers: tookMs.length, failures: failed, elapsedMs, p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Counted over all connections, so that all requests of a run are used equally. */
let sent = 0;

/** Drives one connection until the time is over. Resolves with the number of failures. */
function drive(parameters: LoadParameters, endMs: number, tookMs: number[]): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const expected = `HTTP/1.1 ${parameters.status} `;
  const socket = connect({ host: "127.0.0.1", port: parameters.port, noDelay: true });
  let sentMs = 0;
  let failures = 0;
  const send = () => {
    sentMs = performance.now();
    socket.write(parameters.requests[sent++ % parameters.requests.length] ?? "", "utf8");
  };
  socket.once("connect", send);
  readAnswers(socket, (head) => {
    const nowMs = performance.now();
    if (head.startsWith(expected)) tookMs.push(nowMs - sentMs);
    else failures++;
    if (nowMs < endMs) send();
    else socket.end();
  });
  socket.once("error", () => failures++);
  socket.once("close", () => resolve(failures));
  return promise;
}

if (process.argv[2] === "load" && process.send !== undefined) {
  process.on("message", async (parameters: LoadParameters) =>
    process.send?.(await generateLoad(parameters)),
  );
}
