/**
 * Builds the completion script for bash 3.2 and later. The script contains all words, so that a key
 * press starts no process. It never evaluates any part of the line.
 */
import { type NounWords, quoted, type VerbWords, type Word } from "./command-tree.ts";

/** The script. `run` is the command line that runs the program, quoted for a shell. */
export function bashScript(nouns: readonly NounWords[], run: string): string {
  return `# Completion of billing for bash.
billing() {
  ${run} "$@"
}

_billing() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local noun="\${COMP_WORDS[1]}" verb="\${COMP_WORDS[2]}" words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=${wordList(nouns)}
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case "$noun" in
${nouns.map(nounCase).join("")}    esac
  else
    case "$noun $verb $previous" in
${verbsOf(nouns).map(valueCases).join("")}    esac
    if [ -z "$words" ] && [ "\${current#-}" = "$current" ]; then
      case "$noun $verb $COMP_CWORD" in
${verbsOf(nouns).map(placeCases).join("")}      esac
    fi
    if [ -z "$words" ]; then
      case "$noun $verb" in
${verbsOf(nouns).map(optionCase).join("")}      esac
    fi
  fi
  COMPREPLY=( $(compgen -W "$words" -- "$current") )
}

# If no word is found, files are completed: many options take one.
complete -o default -F _billing billing
`;
}

interface Called {
  readonly path: string;
  readonly verb: VerbWords;
}

function verbsOf(nouns: readonly NounWords[]): readonly Called[] {
  return nouns.flatMap((noun) =>
    noun.verbs.map((verb) => ({ path: `${noun.word} ${verb.word}`, verb })),
  );
}

function wordList(words: readonly Word[]): string {
  return quoted(words.map(({ word }) => word).join(" "));
}

function nounCase({ word, verbs, places: [choices = []] }: NounWords): string {
  const words = verbs.length > 0 ? wordList(verbs) : quoted(choices.join(" "));
  return `      ${quoted(word)}) words=${words} ;;\n`;
}

/** After an option with a value: the values to choose from, or no words. */
function valueCases({ path, verb }: Called): string {
  return verb.options
    .filter(({ takesValue }) => takesValue)
    .map(({ word, values }) => {
      const then = values.length > 0 ? `words=${quoted(values.join(" "))}` : "return";
      return `      ${quoted(`${path} ${word}`)}) ${then} ;;\n`;
    })
    .join("");
}

/** The index of a verb's first argument, after program, noun and verb. */
const firstPlace = 3;

function placeCases({ path, verb }: Called): string {
  return verb.places
    .map((choices, index) => ({ choices, at: `${path} ${firstPlace + index}` }))
    .filter(({ choices }) => choices.length > 0)
    .map(({ choices, at }) => `        ${quoted(at)}) words=${quoted(choices.join(" "))} ;;\n`)
    .join("");
}

function optionCase({ path, verb }: Called): string {
  return `        ${quoted(path)}) words=${wordList(verb.options)} ;;\n`;
}
