/** Runs one command: request, confirmation, calls, output and exit code. */
import { callJson } from "./call-json.ts";
import { confirm } from "./confirm.ts";
import { type ApiConnection, type ConnectionOptions, connect } from "./connection.ts";
import { type ExitCode, exitCodes, RefusedError } from "./failures.ts";
import type { Verb } from "./noun.ts";
import { chosen } from "./output/columns.ts";
import { type OutputFormat, outputFormats } from "./output/format-names.ts";
import { isObject, type Json } from "./output/message-json.ts";
import { show, showPages } from "./output/show.ts";
import { pages } from "./pages.ts";
import { plainWords } from "./plain-words.ts";
import { type ParsedArguments, readRequest, resolveCodes } from "./read-request.ts";
import { requestMessage } from "./request-message.ts";
import { requireMembers } from "./required-members.ts";
import { withProfile } from "./sign-in/profiles.ts";
import type { Terminal } from "./terminal.ts";

/** Runs a verb with its arguments and options. Throws the errors of `failures.ts`. */
export async function runVerb(
  around: Terminal,
  whole: Verb,
  parsed: ParsedArguments,
): Promise<ExitCode> {
  const { options } = parsed;
  const terminal = { ...around, env: await withProfile(around.env, options) };
  const verb = chosen(whole, options);
  const read = await readRequest(terminal, verb, parsed);
  const request = verb.withExtra?.(read, options) ?? read;
  // Report missing and invalid members before any question or call.
  if (verb.work === undefined) requestMessage(verb.method, request);
  requireMembers(verb, request);
  const connection = await connect(terminal, options as ConnectionOptions);
  const sentence = verb.irreversible?.(request) ?? null;
  if (sentence !== null) await confirm(terminal, sentence, options.yes === true);
  const resolved = await resolveCodes(connection, verb, request);
  const work = { terminal, connection, request: resolved, extra: options };
  const format = formatOf(options);
  if (format === "csv" && options.all === true && verb.work === undefined) {
    await showPages(terminal, verb, pages(connection, verb.method, resolved));
    return exitCodes.done;
  }
  const before = format === "table" ? await verb.before?.(work) : undefined;
  const calling =
    verb.work === undefined
      ? callOnce(terminal, connection, verb, resolved, options.all === true)
      : verb.work(work);
  const response = await calling.catch((error: unknown) => {
    throw error instanceof RefusedError ? explained(error, verb, resolved) : error;
  });
  if (verb.isStream !== true) await show(terminal, verb, response, { format, work, before });
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
