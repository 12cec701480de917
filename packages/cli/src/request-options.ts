/**
 * Builds a command's options and arguments from the fields of its request, and reads their values
 * back as a JSON object.
 */
import { type DescField, getOption, ScalarType } from "@bufbuild/protobuf";
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import { field as fieldExtension } from "../../../src/gen/proto/billing/options/v1/options_pb.ts";
import { jsonName } from "../../../src/transport/rest/json-shape.ts";
import { enumWords } from "../../../src/transport/rpc/validation/enum-words.ts";
import { organisationField, type Verb } from "./noun.ts";
import type { Json } from "./output/message-json.ts";
import { readSince, sinceForms } from "./read-since.ts";

/** The help texts of fields that every list has. */
const pageFields: Readonly<Record<string, string>> = {
  limit: "how many to return, 1 to 100",
  starting_after: "the id of the last one on the previous page",
  cursor: "the cursor of the previous page",
};

/**
 * The request's secret fields. They are never arguments, because other users can see arguments in
 * the list of processes.
 */
export function secretFields(verb: Verb): readonly DescField[] {
  return verb.method.input.fields.filter((field) => getOption(field, fieldExtension).secret);
}

/** The help text of a field, or `undefined` if the field is no option. */
export function optionText(verb: Verb, field: DescField): string | undefined {
  const name = jsonName(field);
  if (verb.places?.includes(name) || secretFields(verb).includes(field)) return undefined;
  return (
    verb.fields?.[name] ??
    pageFields[name] ??
    (name === "organisation" ? organisationField : undefined)
  );
}

/** Adds the arguments and options of a verb to its command. */
export function addRequestOptions(command: Command, verb: Verb): void {
  const { fields } = verb.method.input;
  for (const place of verb.places ?? []) {
    const field = fields.find((each) => jsonName(each) === place);
    if (field !== undefined) command.addArgument(placeArgument(verb, field));
  }
  for (const field of fields) {
    const text = optionText(verb, field);
    if (text !== undefined)
      for (const option of fieldOptions(field, text)) command.addOption(option);
  }
  for (const field of secretFields(verb)) {
    command.option(
      `--${flagOf(field)}-file <path>`,
      `a file with the ${wordsOf(field)}, or - for the standard input; a prompt if left out`,
    );
  }
  if (verb.takesFile === true)
    command.option(
      "--file <path>",
      "a JSON file with the request, or - for the standard input; options override it",
    );
  for (const { flags, description } of verb.extra ?? []) command.option(flags, description);
  if (verb.columns !== undefined)
    command.addOption(
      new Option(
        "--columns <list>",
        "the columns of the table or CSV, separated by commas: titles, or members of -o json",
      ).argParser(readList),
    );
  if (verb.inner !== undefined)
    command.option("--lines", "list the lines of the documents, each with its document");
}

/** The values of arguments and options, as members of the request. */
export function requestJson(
  verb: Verb,
  places: readonly unknown[],
  options: Readonly<Record<string, unknown>>,
): Json {
  const members = verb.method.input.fields.flatMap((field): [string, Json[string]][] => {
    const name = jsonName(field);
    const place = verb.places?.indexOf(name) ?? -1;
    const value =
      place >= 0
        ? places[place]
        : optionText(verb, field) === undefined
          ? undefined
          : options[field.localName];
    return value === undefined ? [] : [[name, value as Json[string]]];
  });
  return Object.fromEntries(members);
}

function placeArgument(verb: Verb, field: DescField): Argument {
  const lookup = verb.lookups?.[jsonName(field)];
  const byName = verb.ofOrganisations === true && jsonName(field) === "id" ? "-or-name" : "";
  const orCode = lookup === undefined ? byName : `-or-${lookup.by ?? "code"}`;
  const name = `${flagOf(field)}${orCode}`;
  // Of an organisation, the settings can have the id. The argument after it is then the first.
  const argument = new Argument(verb.ofOrganisations === true ? `[${name}]` : `<${name}>`);
  // As words, `on` reads better after a noun than `true`.
  if (field.scalar === ScalarType.BOOL) argument.choices(["on", "off"]).argParser(readSwitch);
  if (field.scalar === ScalarType.INT32) argument.argParser(readInteger);
  if (field.enum !== undefined) withChoices(argument, enumWords(field));
  return argument;
}

function fieldOptions(field: DescField, text: string): readonly Option[] {
  const flag = flagOf(field);
  if (field.fieldKind === "list" && field.enum !== undefined) return [wordList(field, text)];
  if (field.fieldKind === "list") return [new Option(`--${flag} <list>`, text).argParser(readList)];
  if (field.enum !== undefined)
    return [withChoices(new Option(`--${flag} <word>`, text), enumWords(field))];
  switch (field.scalar) {
    case ScalarType.BOOL:
      return [
        new Option(`--${flag}`, text),
        new Option(`--no-${flag}`, `the opposite of --${flag}`),
      ];
    case ScalarType.INT32:
      return [new Option(`--${flag} <number>`, text).argParser(readInteger)];
    default:
      if (isTime(field))
        return [new Option(`--${flag} <time>`, `${text}: ${sinceForms}`).argParser(readTime)];
      return [new Option(`--${flag} <${/_at$/.test(field.name) ? "time" : "text"}>`, text)];
  }
}

/** A filter by time. The service takes an instant. */
function isTime({ name }: DescField): boolean {
  return name === "since" || name === "until";
}

/** Commander passes the previous value as the second argument, which is no clock. */
function readTime(text: string): string {
  return readSince(text);
}

/** Sets the words to choose from. Hyphens are accepted in place of underscores. */
function withChoices<T extends Option | Argument>(of: T, words: readonly string[]): T {
  of.choices(words);
  of.argParser((text: string) => oneOf(words, text));
  return of;
}

function oneOf(words: readonly string[], text: string): string {
  const word = text.replaceAll("-", "_").toLowerCase();
  if (words.includes(word)) return word;
  throw new InvalidArgumentError(`Allowed choices are ${words.join(", ")}.`);
}

/** `on` or `off`. Throws commander's error for another text. */
export function readSwitch(text: string): boolean {
  if (text === "on") return true;
  if (text === "off") return false;
  throw new InvalidArgumentError("Allowed choices are on, off.");
}

/** Several words to choose from. */
function wordList(field: DescField, text: string): Option {
  const words = enumWords(field);
  const option = new Option(`--${flagOf(field)} <list>`, `${text}: ${words.join(", ")}`);
  return option.argParser((list: string, before: unknown) =>
    readList(list, before).map((text) => oneOf(words, text)),
  );
}

function readInteger(text: string): number {
  if (!/^-?(0|[1-9][0-9]{0,9})$/.test(text))
    throw new InvalidArgumentError("It must be a whole number.");
  return Number(text);
}

/** The option may be repeated, and its values may be separated by commas. */
function readList(text: string, before: unknown): readonly string[] {
  const words = text.split(",").map((word) => word.trim());
  return [
    ...(Array.isArray(before) ? (before as string[]) : []),
    ...words.filter((word) => word !== ""),
  ];
}

/** A field as a flag: `effective-date`. */
export function flagOf(field: DescField): string {
  return jsonName(field).replaceAll("_", "-");
}

/** A field's name as words: `client secret`. */
export function wordsOf(field: DescField): string {
  return jsonName(field).replaceAll("_", " ");
}

/** The camelCase name under which commander stores the file option of a secret field. */
export function secretFileOption(field: DescField): string {
  return `${field.localName}File`;
}
