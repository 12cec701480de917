/**
 * Sends one request and reads the beginning of its answer, within deadlines. It handles the HTTP
 * client's events itself: a stream and an abort signal for each request cost more than the rest.
 */
import type { Dispatcher } from "undici";
import { NotSent } from "./connect.ts";

/** The request, as the HTTP client takes it. */
export interface ExchangeRequest {
  readonly origin: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array;
  /** Ends the request before its deadline, as a failure. */
  readonly signal?: AbortSignal | undefined;
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
export function exchange(
  agent: Dispatcher,
  request: ExchangeRequest,
  deadlines: Deadlines,
): Promise<ExchangeOutcome> {
  return new Promise((resolve) => start(agent, request, deadlines, resolve));
}

function start(
  agent: Dispatcher,
  { origin, path, headers, body, signal }: ExchangeRequest,
  { totalMs, restMs }: Deadlines,
  resolve: (outcome: ExchangeOutcome) => void,
): void {
  const startedAt = performance.now();
  const latencyMs = () => Math.round(performance.now() - startedAt);
  const chunks: Uint8Array[] = [];
  let length = 0;
  let answered: Omit<Extract<ExchangeOutcome, { kind: "answered" }>, "beginning"> | null = null;
  let running: Dispatcher.DispatchController | null = null;
  let stopped: Error | null = null;
  let isOver = false;
  let restTimer: NodeJS.Timeout | undefined;
  const end = (error: unknown) => {
    isOver = true;
    clearTimeout(totalTimer);
    clearTimeout(restTimer);
    signal?.removeEventListener("abort", onAbort);
    if (answered === null) resolve({ kind: "failed", error, latencyMs: latencyMs() });
    else resolve({ ...answered, beginning: Buffer.concat(chunks) });
  };
  const stop = (error: Error) => {
    stopped = error;
    end(error);
    running?.abort(error);
  };
  const cut = () => stop(new NotSent("its answer was cut"));
  const onAbort = () => stop(new NotSent("the request was stopped"));
  const totalTimer = setTimeout(
    () => stop(new NotSent(`no answer came within ${totalMs / 1000} seconds`)),
    totalMs,
  );
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted) onAbort();
  else agent.dispatch({ origin, path, method: "POST", headers, body }, handler());

  function handler(): Dispatcher.DispatchHandler {
    return {
      onRequestStart: (controller) => {
        // The deadline may end before the connection is ready. Then nothing is sent over it.
        if (stopped !== null) controller.abort(stopped);
        running = controller;
      },
      onResponseStart: (_controller, status, { "retry-after": retryAfter }) => {
        if (status < 200) return;
        answered = { kind: "answered", status, retryAfter, latencyMs: latencyMs() };
        // A slow answer must not occupy a connection. Most have ended before the microtask.
        queueMicrotask(() => {
          if (!isOver) restTimer = setTimeout(cut, restMs);
        });
      },
      // It reads on, up to a limit, so that the connection can be reused.
      onResponseData: (_controller, chunk) => {
        if (length <= keptBytes) chunks.push(chunk);
        length += chunk.length;
        if (length >= readBytes) cut();
      },
      onResponseEnd: () => end(null),
      // Also called after each stop, whose outcome is the first one.
      onResponseError: (_controller, error) => end(error),
    };
  }
}
