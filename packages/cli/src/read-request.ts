/**
 * Builds the request of a command. A JSON file comes first and options override it. Secrets are
 * read from a file or a hidden prompt, and codes are resolved to ids.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { jsonName } from "../../../src/transport/rest/json-shape.ts";
import type { ApiConnection } from "./connection.ts";
import { RefusedError, UsageError } from "./failures.ts";
import type { NameLookup, Verb } from "./noun.ts";
import { organisationIdOf } from "./organisation-names.ts";
import { isObject, type Json, messageJson } from "./output/message-json.ts";
import { requestMessage } from "./request-message.ts";
import { requestJson, secretFields, secretFileOption, wordsOf } from "./request-options.ts";
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
  const needsOrganisation = verb.method.input.fields.some(
    (field) => jsonName(field) === "organisation",
  );
  const isFilter = verb.fields?.organisation !== undefined;
  if (needsOrganisation && !isFilter && request.organisation === undefined) {
    request.organisation =
      terminal.env.BILLING_ORGANISATION || missing("--organisation, or set BILLING_ORGANISATION");
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

async function readJsonFile(terminal: Terminal, path: string): Promise<Json> {
  const text = await terminal.read(path);
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new UsageError(
      `${path} is not JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  if (!isObject(value)) throw new UsageError(`${path} must contain a JSON object`);
  return value;
}

/** The form of this service's ids. Any other text is a code. */
const idPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

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
    if (typeof idOrName === "string" && !idPattern.test(idOrName))
      resolved[name] = await organisationIdOf(connection, idOrName);
  }
  for (const [name, lookup] of Object.entries(verb.lookups ?? {})) {
    const idOrCode = request[name];
    if (typeof idOrCode !== "string" || idPattern.test(idOrCode)) continue;
    resolved[name] = await idOf(connection, lookup, String(resolved.organisation), idOrCode);
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
  const page = await connection.call(list, requestMessage(list, { organisation, [by]: name }));
  const { data } = messageJson(list.output, page);
  const [found] = Array.isArray(data) ? data : [];
  if (isObject(found) && typeof found.id === "string") return found.id;
  const words = kind.replaceAll("_", " ");
  throw new RefusedError(`${kind}_not_found`, `There is no ${words} with the ${by} ${name}.`);
}
