/**
 * Builds the completion script for zsh, with the meaning of each word. The script contains all
 * words and evaluates no part of the line.
 */
import { type NounWords, quoted, type VerbWords, type Word } from "./command-tree.ts";

/** The script. `run` is the command line that runs the program, quoted for a shell. */
export function zshScript(nouns: readonly NounWords[], run: string): string {
  return `#compdef billing
# Completion of billing for zsh.
billing() {
  ${run} "$@"
}

_billing() {
  local -a found
  case "$CURRENT" in
    2)
      found=(${described(nouns)})
      _describe 'noun' found
      ;;
    3)
      case "$words[2]" in
${nouns.map(nounCase).join("")}      esac
      _describe 'verb' found
      ;;
    *)
      case "$words[2] $words[3] $words[CURRENT-1]" in
${nouns.flatMap((noun) => noun.verbs.map((verb) => valueCases(noun, verb))).join("")}      esac
      case "$words[2] $words[3] $CURRENT" in
${nouns.flatMap((noun) => noun.verbs.map((verb) => placeCases(noun, verb))).join("")}      esac
      case "$words[2] $words[3]" in
${nouns.flatMap((noun) => noun.verbs.map((verb) => optionCase(noun, verb))).join("")}      esac
      _describe -o 'option' found
      ;;
  esac
}

compdef _billing billing
`;
}

/**
 * `_describe` takes `word:meaning`. A colon in the word would end it; none of our words has one.
 */
function described(words: readonly Word[]): string {
  return words.map(({ word, meaning }) => quoted(`${word}:${meaning}`)).join(" ");
}

function plainWords(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

function nounCase({ word, verbs, places: [choices = []] }: NounWords): string {
  const found = verbs.length > 0 ? described(verbs) : plainWords(choices);
  return `        ${quoted(word)}) found=(${found}) ;;\n`;
}

/** After an option with a value: its values, or files, because many options take a file. */
function valueCases(noun: NounWords, verb: VerbWords): string {
  return verb.options
    .filter(({ takesValue }) => takesValue)
    .map(({ word, values }) => {
      const then =
        values.length > 0
          ? `found=(${plainWords(values)}); _describe 'value' found; return`
          : "_files; return";
      return `        ${quoted(`${noun.word} ${verb.word} ${word}`)}) ${then} ;;\n`;
    })
    .join("");
}

/** The index of a verb's first argument, counted from 1, after program, noun and verb. */
const firstPlace = 4;

function placeCases(noun: NounWords, verb: VerbWords): string {
  return verb.places
    .map((choices, index) => ({ choices, at: `${noun.word} ${verb.word} ${firstPlace + index}` }))
    .filter(({ choices }) => choices.length > 0)
    .map(
      ({ choices, at }) =>
        `        ${quoted(at)}) found=(${plainWords(choices)}); _describe 'value' found ;;\n`,
    )
    .join("");
}

function optionCase(noun: NounWords, verb: VerbWords): string {
  return `        ${quoted(`${noun.word} ${verb.word}`)}) found=(${described(verb.options)}) ;;\n`;
}
