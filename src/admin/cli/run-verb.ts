/** Runs one command: request, confirmation, calls, output and exit code. */
import { type Connection, type ConnectionOptions, connect } from "./connection.ts";
import { type ExitCode, exitCodes, RefusedError, UsageError } from "./failures.ts";
import type { Verb } from "./noun.ts";
import { isObject, type Json, messageJson } from "./output/message-json.ts";
import { show } from "./output/show.ts";
import { type ParsedArguments, readRequest, requestMessage, resolveCodes } from "./read-request.ts";
import type { Terminal } from "./terminal.ts";

/** Runs a verb with its arguments and options. Throws the errors of `failures.ts`. */
export async function runVerb(
  terminal: Terminal,
  verb: Verb,
  parsed: ParsedArguments,
): Promise<ExitCode> {
  const { options } = parsed;
  const read = await readRequest(terminal, verb, parsed);
  const request = verb.withExtra?.(read, options) ?? read;
  // Report invalid members before any question or call.
  if (verb.work === undefined) requestMessage(verb.method, request);
  const connection = await connect(terminal, options as ConnectionOptions);
  await confirm(terminal, verb.irreversible?.(request) ?? null, options.yes === true);
  const resolved = await resolveCodes(connection, verb, request);
  const response =
    verb.work === undefined
      ? await callOnce(terminal, connection, verb, resolved, options.all === true)
      : await verb.work({ terminal, connection, request: resolved, extra: options });
  show(terminal, verb, response, options.json === true);
  return verb.failed?.(response, options) === true ? exitCodes.refused : exitCodes.done;
}

/** Whether a verb returns pages. */
export function isPaged(verb: Verb): boolean {
  return verb.method.output.fields.some(({ name }) => name === "has_more");
}

/** One call, with JSON as request and response. */
export async function callJson(
  connection: Connection,
  method: Verb["method"],
  request: Json,
): Promise<Json> {
  return messageJson(method.output, await connection.call(method, requestMessage(method, request)));
}

/** The largest page size, for the fewest calls. */
const largestPage = 100;

/**
 * Yields the pages of a list, starting at the request's position. `method` returns `data` and
 * `has_more`.
 */
async function* pages(
  connection: Connection,
  method: Verb["method"],
  request: Json,
): AsyncGenerator<Json> {
  const hasLimit = method.input.fields.some(({ name }) => name === "limit");
  let next: Json = { ...(hasLimit ? { limit: largestPage } : {}), ...request };
  for (;;) {
    const page = await callJson(connection, method, next);
    yield page;
    if (page.has_more !== true) return;
    const rows = Array.isArray(page.data) ? page.data : [];
    const last = rows.at(-1);
    if (typeof page.next_cursor === "string") next = { ...next, cursor: page.next_cursor };
    else if (isObject(last) && typeof last.id === "string")
      next = { ...next, starting_after: last.id };
    else throw new Error("has_more is true, but the page has no cursor");
  }
}

async function callOnce(
  terminal: Terminal,
  connection: Connection,
  verb: Verb,
  request: Json,
  all: boolean,
): Promise<Json> {
  if (!all) return callJson(connection, verb.method, request);
  const data: Json[] = [];
  for await (const page of pages(connection, verb.method, request)) {
    if (Array.isArray(page.data)) data.push(...page.data.filter(isObject));
    if (terminal.interactive && page.has_more === true) terminal.err(`\r${data.length} …`);
  }
  if (terminal.interactive) terminal.err("\r");
  return { data, has_more: false };
}

async function confirm(terminal: Terminal, sentence: string | null, yes: boolean): Promise<void> {
  if (sentence === null || yes) return;
  if (!terminal.interactive) throw new UsageError(`${sentence} Use --yes to confirm.`);
  const answer = await terminal.ask(`${sentence} Continue? [y/N] `, false);
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new RefusedError("not_confirmed", "Nothing was changed.");
}
