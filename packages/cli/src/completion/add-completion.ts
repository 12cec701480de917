/**
 * The command `completion` writes the completion script of a shell. The script asks the program at
 * each key press (`billing complete -- …`), which also knows codes and ids of the service.
 */
import tab from "@bomb.sh/tab/commander";
import type { Argument, Command, Option } from "commander";
import { jsonName } from "../../../../src/transport/rest/json-shape.ts";
import type { Noun, Verb } from "../noun.ts";
import { flagOf } from "../request-options.ts";
import type { Terminal } from "../terminal.ts";
import { valuesFor, type Word } from "./values.ts";

const completionName = "completion";

const examples = `
Examples:
  $ source <(billing completion bash)                 # bash 4, with its package bash-completion
  $ source <(billing completion zsh)
  $ billing completion fish | source
  > billing completion powershell | Out-String | Invoke-Expression
`;

/** What completion reads of the program. */
interface Known {
  readonly nouns: readonly Noun[];
  readonly verbs: readonly Verb[];
}

/**
 * Adds the commands, after all others. For a call of a script, the values of the word that is being
 * completed are read first, because the library takes them at once.
 */
export async function addCompletion(
  program: Command,
  terminal: Terminal,
  known: Known,
  words: readonly string[],
): Promise<void> {
  const completion = tab(program, { completionCommandName: completionName });
  // A line of an answer is a value with its meaning. The text of a help has several.
  for (const command of completion.commands.values())
    command.description = command.description.split("\n")[0] ?? "";
  program.commands
    .find((command) => command.name() === completionName)
    ?.summary("Write the completion script of bash, zsh, fish or PowerShell")
    .addHelpText("after", examples)
    .action((shell: string) =>
      terminal.out(scriptOf(() => completion.setup(program.name(), program.name(), shell))),
    );
  const [first, second, ...line] = words;
  const word = first === "complete" && second === "--" ? wordOf(program, known, line) : null;
  if (word === null) return;
  const { named, verb, noun } = word;
  const values = await valuesFor(terminal, word);
  if (values.length === 0) return;
  const own = completion.commands.get(noun === null ? verb.name : `${noun.name} ${verb.name}`);
  const target =
    "long" in named
      ? own?.options.get(named.long?.slice(2) ?? "")
      : own?.arguments.get(named.name());
  if (target === undefined) return;
  target.handler = (complete: (value: string, description: string) => void) => {
    for (const { value, description } of values) complete(value, description);
  };
}

/** The script that the library writes to the console. */
function scriptOf(write: () => void): string {
  const { log } = console;
  let text = "";
  console.log = (written: string) => {
    text += `${written}\n`;
  };
  try {
    write();
  } finally {
    console.log = log;
  }
  // The line's words are passed on as they are. The library would evaluate what stands in them.
  return text.replace('out=$(eval "$requestComp" 2>/dev/null)', asTheyAre);
}

const asTheyAre = 'out=$(billing complete -- "$' + '{words[@]:1}" 2>/dev/null)';

/** Finds the word that is being completed. Null if it is a command, a flag or unknown. */
function wordOf(
  program: Command,
  { nouns, verbs }: Known,
  line: readonly string[],
): (Word & { readonly named: Option | Argument }) | null {
  const noun = nouns.find(({ name }) => name === line[0]) ?? null;
  const [start, verb] =
    noun === null
      ? [1, verbs.find(({ name }) => name === line[0])]
      : [2, noun.verbs.find(({ name }) => name === line[1])];
  const names = line.slice(0, start);
  const command = names.reduce<Command | undefined>(
    (of, name) => of?.commands.find((each) => each.name() === name),
    program,
  );
  if (verb === undefined || command === undefined || line.length <= start) return null;
  const text = line.at(-1) ?? "";
  let [place, pending, organisation]: [number, Option | null, string | undefined] = [
    0,
    null,
    undefined,
  ];
  for (const token of line.slice(start, -1)) {
    if (pending !== null) {
      if (pending.long === "--organisation") organisation = token;
      pending = null;
    } else if (token.startsWith("-")) {
      const option = command.options.find(({ long, short }) => token === long || token === short);
      pending = option !== undefined && (option.required || option.optional) ? option : null;
    } else place += 1;
  }
  const named = pending ?? command.registeredArguments[place];
  const field =
    pending === null
      ? verb.places?.[place]
      : verb.method.input.fields
          .map((one) => [jsonName(one), flagOf(one)] as const)
          .find(([, flag]) => pending?.long === `--${flag}`)?.[0];
  if (named === undefined || field === undefined || text.startsWith("-")) return null;
  return { noun, verb, field, text, organisation, named };
}
