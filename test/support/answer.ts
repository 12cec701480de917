/** Requests of tests over HTTP, and answers that do not depend on the speed of the machine. */
import { setTimeout as wait } from "node:timers/promises";
import { allow } from "./slowness.ts";
import { until } from "./until.ts";

/** An answer, read to its end. `json` is undefined if the body is no JSON. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of every shape
  readonly json: any;
}

/** The optional parts of a request. `body` is sent as JSON, or unchanged if it is text. */
export interface RequestOptions {
  readonly key?: string;
  readonly idempotencyKey?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** Sends one request and reads its answer. */
export async function ask(
  url: string,
  verb: string,
  options: RequestOptions = {},
): Promise<Answered> {
  const headers = new Headers(options.headers);
  if (options.key !== undefined) headers.set("Authorization", `Bearer ${options.key}`);
  if (options.idempotencyKey !== undefined) headers.set("Idempotency-Key", options.idempotencyKey);
  const body =
    options.body === undefined || typeof options.body === "string"
      ? options.body
      : JSON.stringify(options.body);
  if (body !== undefined && !headers.has("Content-Type"))
    headers.set("Content-Type", "application/json");
  const answer = await fetch(url, {
    method: verb,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, json: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a request was not begun, because the service could not reach its database in time. */
const isNotBegun = ({ json }: Answered): boolean =>
  (json?.error?.code ?? json?.details?.[0]?.debug?.code) === "temporarily_unavailable";

/** After how long the service asks for such a request again. */
const retryAfterMs = 1_000;

/**
 * Sends a request until the service begins it. The service gives up after three seconds without its
 * database (REQUEST-14), and a busy machine may stand still longer than that, several times.
 */
export function untilBegun(send: () => Promise<Answered>): Promise<Answered> {
  const tried = async () => {
    const answer = await send();
    return !isNotBegun(answer) && answer;
  };
  return until("the service begins the request", tried, retryAfterMs);
}

/**
 * An answer that took longer may have used up the 15 seconds for the ledger (POSTING-4). A shorter
 * one never has: then a document that is not posted is a fault.
 */
const slowAnswerMs = 12_000;

/** How long the documents of such an answer may take to be posted. */
const postingMs = allow(6_000);

/**
 * Sends a request to an API whose ledger works. On a slow machine the answer may come before the
 * ledger has decided on its documents: they are read again until it has. `text` stays as answered.
 */
export async function askUntilPosted(
  baseUrl: string,
  verb: string,
  path: string,
  options?: RequestOptions,
  usedUpMs = slowAnswerMs,
): Promise<Answered> {
  const began = performance.now();
  const answer = await ask(`${baseUrl}${path}`, verb, options);
  if (performance.now() - began < usedUpMs || answer.status >= 300) return answer;
  const end = performance.now() + postingMs;
  return { ...answer, json: await posted(answer.json) };

  async function posted(value: unknown): Promise<unknown> {
    if (Array.isArray(value)) return Promise.all(value.map(posted));
    if (typeof value !== "object" || value === null) return value;
    if (isUndecided(value)) return decided(value);
    const members = Object.entries(value).map(async ([name, of]) => [name, await posted(of)]);
    return Object.fromEntries(await Promise.all(members));
  }

  async function decided(document: Document): Promise<unknown> {
    const headers = options?.key === undefined ? {} : { key: options.key };
    const url = `${baseUrl}/v1/${document.object}s/${document.id}`;
    for (;;) {
      const read = await ask(url, "GET", headers);
      if (read.status !== 200) return document;
      if (!isUndecided(read.json) || performance.now() > end) return read.json;
      await wait(100);
    }
  }
}

interface Document {
  readonly object: "invoice" | "credit_note";
  readonly id: string;
}

/** Whether a member of an answer is a document on which the ledger has not decided. */
function isUndecided(value: object): value is Document {
  const { object, status, ledger } = value as {
    object?: unknown;
    status?: unknown;
    ledger?: { sync_status?: unknown };
  };
  if (object !== "invoice" && object !== "credit_note") return false;
  return ledger?.sync_status === "failed" && status !== "not_in_external";
}
