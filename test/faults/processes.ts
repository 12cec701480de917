/**
 * Further API processes of a system, and requests of a client that repeats them until it has its
 * answer.
 */
import { spawn } from "node:child_process";
import { setTimeout as wait } from "node:timers/promises";
import { Agent, request } from "undici";
import { programPath } from "../support/process.ts";
import { allow } from "../support/slowness.ts";
import { type Answered, type TestSystem, until } from "../support/system.ts";

/** One more API process of a system. */
export interface ApiProcess {
  readonly baseUrl: string;
  /** Resolves with the signal or code by which it ended. */
  readonly exited: Promise<string>;
  /** Closes the pipe of its log, as a reader that has gone. */
  closeOutput(): void;
  stop(): Promise<void>;
}

/** A POST as this file sends it. */
export interface Post {
  readonly path: string;
  readonly key: string;
  readonly idempotencyKey?: string;
  readonly body: object;
}

const ownScript = programPath("server.ts");

/**
 * Starts an API process on the system's database and Temporal, with the settings of `env`. `script`
 * is this version's unless another is named.
 */
export async function startApiProcess(
  system: Pick<TestSystem, "databaseUrl" | "temporal">,
  env: NodeJS.ProcessEnv = {},
  script = ownScript,
): Promise<ApiProcess> {
  const child = spawn(process.execPath, [script], {
    env: {
      ...process.env,
      DATABASE_URL: system.databaseUrl,
      TEMPORAL_ADDRESS: system.temporal.address,
      TEMPORAL_NAMESPACE: system.temporal.namespace,
      RATE_LIMIT_PER_MINUTE: "100000",
      LEDGER_ADDRESSES: "development",
      // It opens no ledger.
      SECRET_KEY: Buffer.alloc(32).toString("base64"),
      ...env,
      // It reports which port it got: a port that was free before may be taken by then.
      API_PORT: "0",
      ADMIN_PORT: "0",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => (output += String(chunk)));
  const exited = new Promise<string>((resolve) =>
    child.once("exit", (code, signal) => resolve(signal ?? String(code))),
  );
  const baseUrl = await until("a further API process is ready", async () => {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${output}`);
    const [, port] = /"port":(\d+)[^\n]*"started"/.exec(output) ?? [];
    if (port === undefined) return null;
    const url = `http://127.0.0.1:${port}`;
    return (await fetch(`${url}/readyz`)).status === 200 ? url : null;
  });
  return {
    baseUrl,
    exited,
    closeOutput: () => {
      child.stdout.destroy();
      child.stderr.destroy();
    },
    stop: async () => {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

// The tests' own limits must not be what is measured: no pipelining, no time-out before an answer's
// own fifteen seconds.
const agent = new Agent({
  pipelining: 1,
  connections: 128,
  headersTimeout: 60_000,
  keepAliveTimeout: 10_000,
});

/** Sends a POST once; null if the connection broke before the answer. */
export async function post(
  baseUrl: string,
  { path, key, idempotencyKey, body }: Post,
): Promise<Answered | null> {
  try {
    const answer = await request(`${baseUrl}${path}`, {
      dispatcher: agent,
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
        "content-type": "application/json",
      },
      body: JSON.stringify(body),
    });
    const text = await answer.body.text();
    const headers = new Headers();
    for (const [name, value] of Object.entries(answer.headers)) headers.set(name, String(value));
    return { status: answer.statusCode, headers, text, json: JSON.parse(text) };
  } catch (error) {
    if (error instanceof SyntaxError) throw error;
    return null;
  }
}

/**
 * By when an answer has come that waits for the ledger as long as an answer may, which is 15
 * seconds; the rest is for a machine that has much else to do.
 */
export const lateAnswerMs = 15_000 + allow(2_000);

/** By when an answer has come that waits for nothing: well before one that waited. */
export const promptAnswerMs = 12_000;

/** How long a client goes on: the longest lease and the longest answer fit in several times. */
const patienceMs = allow(18_000);

/** The pause after an answer that names none. */
const pauseMs = 500;

function isUndecided({ status, json }: Answered): boolean {
  return json?.error?.code === "request_in_progress" || [429, 500, 502].includes(status);
}

/**
 * Kills a new API process at that step by a POST; throws if the POST is decided instead. On a busy
 * machine its database or the ledger may not be reached in time, so that it does not come to the
 * step. It is sent again, as clients do.
 */
export async function dieOf(system: TestSystem, point: string, what: Post): Promise<void> {
  const doomed = await startApiProcess(system, { BILLING_CRASH_AT: point });
  let answer = await post(doomed.baseUrl, what);
  for (
    const end = performance.now() + patienceMs;
    answer !== null;
    answer = await post(doomed.baseUrl, what)
  ) {
    if (!isUndecided(answer) || performance.now() > end) {
      await doomed.stop();
      throw new Error(`it lives on at ${point}: ${answer.status} ${answer.text}`);
    }
    await wait(pauseMs);
  }
  const how = await doomed.exited;
  if (how !== "SIGKILL") throw new Error(`it ended by ${how}`);
}

/**
 * Sends a POST as clients must: again with the same key on a broken connection, 409
 * `request_in_progress`, 429, 500 and 502, after `Retry-After` if there is one. Returns the first
 * other answer.
 */
export async function postUntilDecided(baseUrl: string, what: Post): Promise<Answered> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const answer = await post(baseUrl, what);
    if (answer !== null && !isUndecided(answer)) return answer;
    const shown = answer === null ? "a broken connection" : `${answer.status} ${answer.text}`;
    if (performance.now() > end)
      throw new Error(`still undecided after ${patienceMs} ms: ${shown}`);
    const seconds = Number(answer?.headers.get("retry-after") ?? 0);
    await wait(seconds > 0 ? seconds * 1000 : pauseMs);
  }
}

/** The same; throws for any other answer than the wanted one. */
export async function postUntil(baseUrl: string, what: Post, wanted: 200 | 201): Promise<Answered> {
  const answer = await postUntilDecided(baseUrl, what);
  if (answer.status === wanted) return answer;
  throw new Error(`not to be retried: ${answer.status} ${answer.text}`);
}

/** The same for a creation. */
export function postUntilCreated(baseUrl: string, what: Post): Promise<Answered> {
  return postUntil(baseUrl, what, 201);
}
