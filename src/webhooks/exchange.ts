/** Sends one request and reads the beginning of its answer, within deadlines. */
import type { Dispatcher } from "undici";
import { NotSent } from "./connect.ts";

/** The request, as the HTTP client takes it. */
export interface ExchangeRequest {
  readonly origin: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array;
}

/** The deadlines of a request, and of its answer after the status, in milliseconds. */
export interface Deadlines {
  readonly totalMs: number;
  readonly restMs: number;
}

/** The latency, in whole milliseconds, ends with the status or the failure. */
export type ExchangeOutcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** The header as it came. */
      readonly retryAfter: string | string[] | undefined;
      /** The whole answer, or more than the first `keptBytes` of it. */
      readonly beginning: Uint8Array;
      readonly latencyMs: number;
    }
  | { readonly kind: "failed"; readonly error: unknown; readonly latencyMs: number };

/**
 * The most bytes read of an answer. A longer answer is cut like a slow one, and its connection is
 * closed.
 */
const readBytes = 64 * 1024;

/** The bytes of an answer that are stored. What follows is read and dropped. */
export const keptBytes = 1024;

/**
 * Sends once over a connection of `agent`. It never rejects. An answer counts from its status on,
 * whatever happens to the rest.
 */
export async function exchange(
  agent: Dispatcher,
  request: ExchangeRequest,
  { totalMs, restMs }: Deadlines,
): Promise<ExchangeOutcome> {
  const startedAt = performance.now();
  const latencyMs = () => Math.round(performance.now() - startedAt);
  const stopping = new AbortController();
  const stop = (why: string) => stopping.abort(new NotSent(why));
  const late = `no answer came within ${totalMs / 1000} seconds`;
  const timers = [setTimeout(() => stop(late), totalMs)];
  try {
    const options = { ...request, method: "POST", signal: stopping.signal } as const;
    const { statusCode: status, headers, body } = await agent.request(options);
    const answered = { status, retryAfter: headers["retry-after"], latencyMs: latencyMs() };
    // A slow answer must not occupy a connection.
    timers.push(setTimeout(() => stop("its answer was cut"), restMs));
    return { kind: "answered", ...answered, beginning: await beginningOf(body) };
  } catch (error) {
    return { kind: "failed", error, latencyMs: latencyMs() };
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}

/** It reads on behind what is kept, up to a limit, so that the connection can be reused. */
async function beginningOf(body: Dispatcher.ResponseData["body"]): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Without a listener the failure of a cut answer would end the process.
  body.on("error", () => undefined);
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      if (length <= keptBytes) chunks.push(chunk);
      length += chunk.length;
      if (length >= readBytes) break;
    }
  } catch {
    // What came of the answer is enough.
  }
  return Buffer.concat(chunks);
}
