/** Runs one command: request, confirmation, calls, output and exit code. */
import { callJson } from "./call-json.ts";
import { type ApiConnection, type ConnectionOptions, connect } from "./connection.ts";
import { type ExitCode, exitCodes, RefusedError, UsageError } from "./failures.ts";
import type { Verb } from "./noun.ts";
import { type OutputFormat, outputFormats } from "./output/format-names.ts";
import { isObject, type Json } from "./output/message-json.ts";
import { show } from "./output/show.ts";
import { plainWords } from "./plain-words.ts";
import { type ParsedArguments, readRequest, resolveCodes } from "./read-request.ts";
import { requestMessage } from "./request-message.ts";
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
  const work = { terminal, connection, request: resolved, extra: options };
  const calling =
    verb.work === undefined
      ? callOnce(terminal, connection, verb, resolved, options.all === true)
      : verb.work(work);
  const response = await calling.catch((error: unknown) => {
    throw error instanceof RefusedError ? explained(error, verb, resolved) : error;
  });
  await show(terminal, verb, response, { format: formatOf(options), work });
  return verb.failed?.(response, options) === true ? exitCodes.refused : exitCodes.done;
}

/** The refusal with plain words, if a rule of the contract refused a value of this request. */
function explained(refusal: RefusedError, { method }: Verb, request: Json): RefusedError {
  const { code, message, param, requestId } = refusal;
  if (code !== "invalid_parameter" || param === null) return refusal;
  const words = plainWords(method.input, request, param);
  return words === null ? refusal : new RefusedError(code, message, param, requestId, words);
}

/** `--json` is short for `-o json`. */
function formatOf({ json, output }: ParsedArguments["options"]): OutputFormat {
  return json === true ? "json" : (outputFormats.find((one) => one === output) ?? "table");
}

/** Whether a verb returns pages. */
export function isPaged(verb: Verb): boolean {
  return verb.method.output.fields.some(({ name }) => name === "has_more");
}

/** The largest page size, for the fewest calls. */
const largestPage = 100;

/**
 * Yields the pages of a list, starting at the request's position. `method` returns `data` and
 * `has_more`.
 */
async function* pages(
  connection: ApiConnection,
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
  connection: ApiConnection,
  verb: Verb,
  request: Json,
  all: boolean,
): Promise<Json> {
  if (!all) return callJson(connection, verb.method, request);
  const data: Json[] = [];
  let last: Json = {};
  for await (const page of pages(connection, verb.method, request)) {
    last = page;
    if (Array.isArray(page.data)) data.push(...page.data.filter(isObject));
    if (terminal.interactive && page.has_more === true) terminal.err(`\r${data.length} …`);
  }
  if (terminal.interactive) terminal.err("\r");
  return { ...last, data, has_more: false };
}

async function confirm(terminal: Terminal, sentence: string | null, yes: boolean): Promise<void> {
  if (sentence === null || yes) return;
  if (!terminal.interactive) throw new UsageError(`${sentence} Use --yes to confirm.`);
  const answer = await terminal.ask(`${sentence} Continue? [y/N] `, false);
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new RefusedError("not_confirmed", "Nothing was changed.");
}
