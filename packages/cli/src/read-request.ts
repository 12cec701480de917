/**
 * Builds the request of a command. A JSON file comes first and options override it. Secrets are
 * read from a file or a hidden prompt, and codes are resolved to ids.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { jsonName } from "../../../src/transport/rest/json-shape.ts";
import { callJson } from "./call-json.ts";
import type { ApiConnection } from "./connection.ts";
import { RefusedError, UsageError } from "./failures.ts";
import type { NameLookup, Verb } from "./noun.ts";
import { organisationIdOf } from "./organisation-names.ts";
import { isObject, type Json } from "./output/message-json.ts";
import { listOf, spaced } from "./output/words.ts";
import { pages } from "./pages.ts";
import {
  readSwitch,
  requestJson,
  secretFields,
  secretFileOption,
  wordsOf,
} from "./request-options.ts";
import { isId } from "./required-members.ts";
import type { Terminal } from "./terminal.ts";

/** The arguments and options that commander parsed. */
export interface ParsedArguments {
  readonly places: readonly unknown[];
  readonly options: Readonly<Record<string, unknown>>;
}

/**
 * The request as JSON. Throws `UsageError` if a file is not a JSON object, or if the organisation
 * or a secret is missing.
 */
export async function readRequest(
  terminal: Terminal,
  verb: Verb,
  { places, options }: ParsedArguments,
): Promise<Json> {
  const { file } = options;
  const fromFile =
    verb.takesFile === true && typeof file === "string" ? await readJsonFile(terminal, file) : {};
  const request: Json = { ...fromFile, ...requestJson(verb, places, options) };
  if (verb.ofOrganisations === true) requireOwnOrganisation(terminal, verb, request);
  const needsOrganisation = verb.method.input.fields.some(
    (field) => jsonName(field) === "organisation",
  );
  const isFilter = verb.fields?.organisation !== undefined;
  if (needsOrganisation && request.organisation === undefined) {
    const { BILLING_ORGANISATION: set } = terminal.env;
    if (!isFilter)
      request.organisation = set || missing("--organisation, or set BILLING_ORGANISATION");
    else if (verb.narrowsToSetting === true && set) request.organisation = set;
  }
  for (const field of secretFields(verb)) {
    const path = options[secretFileOption(field)];
    if (typeof path === "string") request[jsonName(field)] = (await terminal.read(path)).trim();
    else if (request[jsonName(field)] === undefined) {
      if (!terminal.interactive) missing(`--${jsonName(field).replaceAll("_", "-")}-file`);
      request[jsonName(field)] = (
        await terminal.ask(`The ${wordsOf(field)} (not shown): `, true)
      ).trim();
    }
    if (request[jsonName(field)] === "") throw new UsageError(`The ${wordsOf(field)} is empty`);
  }
  return request;
}

function missing(what: string): never {
  throw new UsageError(`Missing: ${what}`);
}

/**
 * The organisation is the first argument, or that of the settings. With one argument fewer, the
 * first one is the value after it.
 */
function requireOwnOrganisation({ env }: Terminal, { places = [] }: Verb, request: Json): void {
  const last = places.at(-1) ?? "id";
  if (last !== "id" && request[last] === undefined) {
    request[last] = readSwitch(String(request.id ?? missing(`on or off`)));
    delete request.id;
  }
  request.id ??=
    env.BILLING_ORGANISATION || missing("an organisation, or set BILLING_ORGANISATION");
}

async function readJsonFile(terminal: Terminal, path: string): Promise<Json> {
  const text = await terminal.read(path);
  if (text.trim() === "") throw new UsageError(`${path} is empty: it must contain a JSON object`);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${path} must contain a JSON object: ${reason}`);
  }
  if (!isObject(value)) throw new UsageError(`${path} must contain a JSON object`);
  return value;
}

/**
 * The request with names of organisations, codes and numbers replaced by ids. Throws `RefusedError`
 * if there is no such object, or if several organisations have the name.
 */
export async function resolveCodes(
  connection: ApiConnection,
  verb: Verb,
  request: Json,
): Promise<Json> {
  const resolved: Json = { ...request };
  for (const name of organisationFields(verb)) {
    const idOrName = request[name];
    if (typeof idOrName === "string" && !isId(idOrName))
      resolved[name] = await organisationIdOf(connection, idOrName);
  }
  for (const [name, lookup] of Object.entries(verb.lookups ?? {})) {
    const idOrCode = request[name];
    if (typeof idOrCode !== "string" || isId(idOrCode)) continue;
    const { organisation } = resolved;
    resolved[name] =
      lookup.by === "name"
        ? await idOfName(connection, lookup, idOrCode)
        : await idOf(connection, lookup, String(organisation), idOrCode);
  }
  return resolved;
}

/** The fields that name an organisation. */
function organisationFields({ method, ofOrganisations }: Verb): readonly string[] {
  const names = method.input.fields.map(jsonName);
  return names.filter((name) => name === "organisation" || (ofOrganisations && name === "id"));
}

async function idOf(
  connection: ApiConnection,
  { kind, list, by = "code" }: NameLookup,
  organisation: string,
  name: string,
): Promise<string> {
  const { data } = await callJson(connection, list, { organisation, [by]: name });
  const [found] = listOf(data);
  if (typeof found?.id === "string") return found.id;
  throw new RefusedError(
    `${kind}_not_found`,
    `There is no ${spaced(kind)} with the ${by} ${name}.`,
  );
}

/** Finds a name as a whole, else one of which the text is a part, in any case. */
async function idOfName(
  connection: ApiConnection,
  { kind, list }: NameLookup,
  text: string,
): Promise<string> {
  const sought = text.toLowerCase();
  const found: Json[] = [];
  for await (const { data } of pages(connection, list, {}))
    found.push(...listOf(data).filter(({ name }) => String(name).toLowerCase().includes(sought)));
  const whole = found.filter(({ name }) => String(name).toLowerCase() === sought);
  const [only, ...others] = whole.length > 0 ? whole : found;
  if (only === undefined)
    throw new RefusedError(`${kind}_not_found`, `There is no ${kind} named ${text}.`);
  if (others.length === 0) return String(only.id);
  const candidates = [only, ...others].map(({ id, name }) => `${String(name)} (${String(id)})`);
  throw new RefusedError(
    `${kind}_ambiguous`,
    `Several ${kind}s are named ${text}: ${candidates.join(", ")}. Use an id.`,
  );
}
