/** The commands as completion needs them, read from the program itself, so that the scripts cannot name what is not there. */
import type { Command } from "commander";

/** A word with what it means. */
export interface Word {
  readonly word: string;
  readonly meaning: string;
}

/** An option. `values` are the words to choose from; empty where anything goes. */
export interface OptionWord extends Word {
  readonly takesValue: boolean;
  readonly values: readonly string[];
}

/** A verb with its options, and the words to choose from at each of its places. */
export interface VerbWords extends Word {
  readonly options: readonly OptionWord[];
  readonly places: readonly (readonly string[])[];
}

/** A noun with its verbs; one without verbs is a command itself. */
export interface NounWords extends VerbWords {
  readonly verbs: readonly VerbWords[];
}

/** Reads the tree of a program. */
export function commandTree(program: Command): readonly NounWords[] {
  return program.commands.map((noun) => ({ ...verbWords(noun), verbs: noun.commands.map(verbWords) }));
}

function verbWords(command: Command): VerbWords {
  return {
    word: command.name(),
    meaning: command.summary() || command.description(),
    options: command
      .createHelp()
      .visibleOptions(command)
      .map((option) => ({
        word: option.long ?? option.short ?? "",
        meaning: option.description,
        takesValue: option.required || option.optional,
        values: option.argChoices ?? [],
      })),
    places: command.registeredArguments.map(({ argChoices }) => argChoices ?? []),
  };
}

/** A text as one word of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
