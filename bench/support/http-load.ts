/**
 * Load over HTTP/1.1 keep-alive connections, in a process of its own so that it takes nothing from the server's. It does
 * no more than a client must: sends the same bytes again as soon as the answer is whole.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { readAnswers } from "./http-answers.ts";

/** One round of load. */
export interface Round {
  readonly port: number;
  /** Whole requests, head and body, sent in turn. */
  readonly requests: readonly string[];
  /** The status that every answer must have. */
  readonly status: number;
  readonly connections: number;
  readonly durationMs: number;
  /** Whether the client sleeps while it waits: for a server of several processes, which need the core that waking takes. */
  readonly sleeps?: boolean;
}

/** What a round did. */
export interface RoundResult {
  /** Answers with the right status. */
  readonly answers: number;
  /** All other answers, and connections that broke. */
  readonly failures: number;
  readonly elapsedMs: number;
  /** Milliseconds that the 50th and 99th of a hundred requests took. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A process that makes load, one round after the other. */
export interface HttpLoad {
  /** The process: its own time is not the server's. */
  readonly pid: number;
  round(round: Round): Promise<RoundResult>;
  stop(): void;
}

/** Starts the process. */
export function startHttpLoad(): HttpLoad {
  const child: ChildProcess = fork(import.meta.filename, ["load"], { stdio: "inherit" });
  return {
    pid: child.pid ?? 0,
    async round(round) {
      child.send(round);
      const [result] = (await once(child, "message")) as [RoundResult];
      return result;
    },
    stop: () => child.disconnect(),
  };
}

async function makeLoad(round: Round): Promise<RoundResult> {
  const startedMs = performance.now();
  const endMs = startedMs + round.durationMs;
  const tookMs: number[] = [];
  // To wake a sleeping client costs the server 20 µs a response, which would be taken for its own work.
  let awake = round.sleeps !== true;
  const stayAwake = () => {
    if (awake) setImmediate(stayAwake);
  };
  stayAwake();
  const failures = await Promise.all(Array.from({ length: round.connections }, () => drive(round, endMs, tookMs)));
  const elapsedMs = performance.now() - startedMs;
  awake = false;
  tookMs.sort((a, b) => a - b);
  const at = (share: number) => tookMs[Math.floor(tookMs.length * share)] ?? Number.NaN;
  const failed = failures.reduce((sum, count) => sum + count, 0);
  return { answers: tookMs.length, failures: failed, elapsedMs, p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Over all connections, so that each request of a round has its turn. */
let sent = 0;

/** One connection until the time is over; resolves with the number of failures. */
function drive(round: Round, endMs: number, tookMs: number[]): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const expected = `HTTP/1.1 ${round.status} `;
  const socket = connect({ host: "127.0.0.1", port: round.port, noDelay: true });
  let sentMs = 0;
  let failures = 0;
  const send = () => {
    sentMs = performance.now();
    socket.write(round.requests[sent++ % round.requests.length] ?? "", "utf8");
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
  process.on("message", async (round: Round) => process.send?.(await makeLoad(round)));
}
