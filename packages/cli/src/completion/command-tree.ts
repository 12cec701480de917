/**
 * The commands as completion needs them. They are read from the program itself, so the scripts
 * cannot contain a command that does not exist.
 */
import type { Command } from "commander";

/** A word with its meaning. */
export interface Word {
  readonly word: string;
  readonly meaning: string;
}

/** An option. `values` are the words to choose from. It is empty if any value is allowed. */
interface OptionWord extends Word {
  readonly takesValue: boolean;
  readonly values: readonly string[];
}

/** A verb with its options, and the words to choose from for each of its arguments. */
export interface VerbWords extends Word {
  readonly options: readonly OptionWord[];
  readonly places: readonly (readonly string[])[];
}

/** A noun with its verbs. A noun without verbs is a command itself. */
export interface NounWords extends VerbWords {
  readonly verbs: readonly VerbWords[];
}

/** Reads the tree of a program: nouns, verbs, options and their values. */
export function commandTree(program: Command): readonly NounWords[] {
  return program.commands.map((noun) => ({
    ...verbWords(noun),
    verbs: noun.commands.map(verbWords),
  }));
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

/** Quotes a text as one word of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
