/**
 * The whole command line: builds commands from the registry of nouns, and turns the outcome of a
 * call into an exit code.
 */
import { Command, CommanderError, Option } from "commander";
import { operationOf } from "../../../src/transport/rpc/operation.ts";
import { version } from "../../../src/version.ts";
import { defaultUrl } from "./connection.ts";
import { type ExitCode, exitCodes, RefusedError, terminationOf } from "./failures.ts";
import type { Verb } from "./noun.ts";
import { whoami } from "./nouns/access/operators.ts";
import { explain } from "./nouns/billing/documents.ts";
import { apply } from "./nouns/catalogue/apply.ts";
import { nouns } from "./nouns/index.ts";
import { status } from "./nouns/now/status.ts";
import { listen } from "./nouns/platform/forward-events.ts";
import { outputFormats } from "./output/format-names.ts";
import { jsonText } from "./output/json-text.ts";
import { clean } from "./output/table.ts";
import { addRequestOptions } from "./request-options.ts";
import { isPaged, runVerb } from "./run-verb.ts";
import { addLogin } from "./sign-in/login.ts";
import type { Terminal } from "./terminal.ts";

const about = `Calls the admin API of the billing service.

Environment:
  BILLING_ADMIN_URL       address of the admin API (${defaultUrl})
  BILLING_OPERATOR_TOKEN  an operator's token, unless --token-file is set
  BILLING_ORGANISATION    used if --organisation is left out
  BILLING_PROFILE         a profile of \`billing login\`; the variables above win over it

Exit codes: 0 done, 1 refused by the service, 2 wrong usage, 3 the service cannot be reached.`;

/** The commands without a noun. */
const verbs = [status, whoami, explain, apply, listen];

/**
 * The program. `ended` receives the exit code of the command that ran. With the `words` of a call
 * only the nouns among them get their verbs, because the options of all are a tenth of a call.
 */
export function buildProgram(
  terminal: Terminal,
  ended: (exitCode: ExitCode) => void,
  words?: readonly string[],
): Command {
  const program = new Command("billing")
    .description(about)
    .version(version, "--version", "show the version")
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .showHelpAfterError("(--help shows arguments and options)");
  for (const noun of nouns) {
    const group = program.command(noun.name).description(noun.summary);
    if (words !== undefined && !words.includes(noun.name)) continue;
    for (const verb of noun.verbs) addVerb(group, verb, terminal, ended);
  }
  for (const verb of verbs) addVerb(program, verb, terminal, ended);
  addLogin(program, terminal);
  return program;
}

function addVerb(
  group: Command,
  verb: Verb,
  terminal: Terminal,
  ended: (exitCode: ExitCode) => void,
): void {
  const command = group
    .command(verb.name, { isDefault: verb.isDefault === true })
    .summary(verb.summary)
    .description(describe(verb));
  addRequestOptions(command, verb);
  if (isPaged(verb) && verb.isStream !== true) command.option("--all", "return all pages");
  if (verb.irreversible !== undefined) command.option("--yes", "do not ask for confirmation");
  if (operationOf(verb.method).idempotencyKey !== "none") {
    command.option(
      "--idempotency-key <key>",
      "repeats under the same key have one effect; random if left out",
    );
  }
  command.addOption(
    new Option("-o, --output <format>", "show the response in this format").choices(outputFormats),
  );
  command.option("--json", "the same as --output json");
  command.option("--profile <name>", "a profile of `billing login`; BILLING_PROFILE if left out");
  command.option("--url <address>", "address of the admin API");
  command.option(
    "--token-file <path>",
    "a file with the operator's token, or - for the standard input",
  );
  command.addHelpText(
    "after",
    `\nExamples:\n${verb.examples.map((example) => `  $ billing ${example}\n`).join("")}`,
  );
  command.action(async () =>
    ended(
      await runVerb(terminal, verb, { places: command.processedArgs, options: command.opts() }),
    ),
  );
}

function describe({ summary, details }: Verb): string {
  return details === undefined ? summary : `${summary}\n\n${details}`;
}

/**
 * Runs one call. `words` are the arguments after `billing`. Expected errors go to the error output.
 * A fault of the program is thrown.
 */
export async function runProgram(terminal: Terminal, words: readonly string[]): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.done;
  const onEnd = (code: ExitCode) => {
    exitCode = code;
  };
  const program = buildProgram(terminal, onEnd, words);
  try {
    const isNoun = nouns.some(({ name }) => name === words[0]);
    if (!isNoun) await complete(program, terminal, words);
    await program.parseAsync(words, { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander has already written its message or the help.
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    const termination = terminationOf(error);
    if (termination === null || !(error instanceof Error)) throw error;
    terminal.err(wantsJson(words) ? errorJson(error, termination.code) : errorText(error));
    return termination.exitCode;
  }
}

/** Adds the completion. Its library is loaded for a call without a noun only. */
async function complete(
  program: Command,
  terminal: Terminal,
  words: readonly string[],
): Promise<void> {
  const { addCompletion } = await import("./completion/add-completion.ts");
  await addCompletion(program, terminal, { nouns, verbs }, words);
}

/** Whether the words of a call ask for JSON. A call that failed may not have been parsed. */
function wantsJson(words: readonly string[]): boolean {
  return words.some(
    (word, index) =>
      /^(--json|-o=?json|--output=json)$/.test(word) ||
      (word === "json" && /^(-o|--output)$/.test(words[index - 1] ?? "")),
  );
}

function errorJson(error: Error, code: string): string {
  const refusal =
    error instanceof RefusedError ? { param: error.param, request_id: error.requestId } : {};
  return jsonText({ error: { code, message: error.message, ...refusal } });
}

function errorText(error: Error): string {
  if (!(error instanceof RefusedError))
    return `${error.message.split("\n").map(clean).join("\n")}\n`;
  const { code, message, param, requestId, words } = error;
  const request = requestId === null ? "" : `, request ${requestId}`;
  if (words !== null) return clean(`${param} ${words} (${code}${request})`).concat("\n");
  const places = [
    param === null ? "" : `param ${param}`,
    requestId === null ? "" : `request ${requestId}`,
  ];
  const details = places.filter((text) => text !== "").join(", ");
  return clean(`${code}: ${message}${details === "" ? "" : ` (${details})`}`).concat("\n");
}
