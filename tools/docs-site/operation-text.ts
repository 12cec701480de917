/** The operations of the OpenAPI document as Markdown: their lists, and the text of each. */
import type { OpenApi, Operation, Schema } from "./openapi.ts";
import {
  block,
  jsonBlock,
  membersText,
  objectsAddress,
  parametersText,
  schemaNameOf,
  section,
  typeText,
} from "./schema-text.ts";

/** The tag of the requests that the service sends. */
export const webhookTag = "webhooks";

/** An operation with its request and its page. */
export interface Route extends Operation {
  /** `POST /v1/subscriptions`. */
  readonly request: string;
  readonly address: string;
}

/** The languages of the samples, by the fences that highlight them. */
const languages: Readonly<Record<string, string>> = { Shell: "sh", Python: "py" };

/** Returns the operations in the order of the document. */
export function routesOf(document: OpenApi): readonly Route[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([verb, operation]) => {
      const { tags, operationId } = operation;
      const slug = operationId.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      const address = `${tagAddress(tags[0] ?? "")}/${slug}`;
      return { ...operation, request: `${verb.toUpperCase()} ${path}`, address };
    }),
  );
}

/** Returns the name in the menu: `Change units` of `changeUnits`. */
export function routeName({ operationId }: Route): string {
  const words = operationId.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** Returns the address of a tag's page. */
export function tagAddress(tag: string): string {
  return `/docs/reference/${tag.replaceAll("_", "-")}`;
}

/** Returns the text of the first page: the manual's, and the operations by tag. */
export function introductionText({ info, tags }: OpenApi, routes: readonly Route[]): string {
  const lists = tags
    .filter(({ name }) => name !== webhookTag)
    .map(({ name, description }) => {
      const tagged = routes.filter((route) => route.tags[0] === name);
      return `### [${titleOf(name)}](${tagAddress(name)})\n\n${description}\n\n${listText(tagged)}`;
    });
  const others =
    `[Objects](${objectsAddress}) has what they take and answer, and ` +
    `[webhook events](${tagAddress(webhookTag)}) what the service sends.`;
  return ["# API reference", info.description, "## Operations", ...lists, others].join("\n\n");
}

/** Returns the text of a tag's page: its operations. */
export function resourceText(
  { name, description }: OpenApi["tags"][number],
  routes: readonly Route[],
): string {
  return `# ${titleOf(name)}\n\n${description}\n\n${listText(routes)}`;
}

function titleOf(tag: string): string {
  return `${tag.charAt(0).toUpperCase()}${tag.slice(1)}`.replaceAll("_", " ");
}

function listText(routes: readonly Route[]): string {
  return routes
    .map(({ summary, address, request }) => `- [${summary}](${address})\\\n  \`${request}\``)
    .join("\n");
}

/** Returns the text of an operation. Texts of a request have their summary as first sentence. */
export function operationText(route: Route, document: OpenApi): string {
  const { summary, description, parameters = [], requestBody } = route;
  const text = description.startsWith(`${summary}.`)
    ? description.slice(summary.length + 1).trimStart()
    : description;
  const body = requestBody?.content["application/json"].schema;
  const parts = [
    `# ${summary}`,
    `\`${route.request}\``,
    text,
    section("Parameters", parametersText(parameters)),
    body === undefined
      ? ""
      : section(requestBody?.required ? "Body" : "Body (optional)", membersOf(body, document)),
    section("Answer", answersText(route, document)),
    section("Errors", errorsText(route)),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** Returns what stands beside the text of an operation: the samples, and what they answer. */
export function operationBeside(route: Route): string {
  const samples = (route["x-codeSamples"] ?? []).map(({ lang, label, source }) =>
    block(`${languages[lang] ?? lang.toLowerCase()} ${label}`, source),
  );
  const examples = successesOf(route).flatMap(([status, { content }]) => {
    const example = content?.["application/json"].example;
    return example === undefined ? [] : [`Answer \`${status}\`:\n\n${jsonBlock(example)}`];
  });
  return section("Sample", [...samples, ...examples].join("\n\n"));
}

function membersOf(schema: Schema, { components }: OpenApi): string {
  return membersText(
    schema.$ref === undefined ? schema : (components.schemas[schemaNameOf(schema.$ref)] ?? {}),
  );
}

function answersText(route: Route, document: OpenApi): string {
  const [first] = successesOf(route);
  const schema = first?.[1].content?.["application/json"].schema;
  const texts = successesOf(route).map(([status, { description, content }]) => {
    const json = content?.["application/json"];
    return `**${status}** ${json === undefined ? "" : typeText(json.schema)}: ${description}`;
  });
  const members = schema === undefined ? "" : membersOf(schema, document);
  return [...texts, members].filter((text) => text !== "").join("\n\n");
}

/** The description of an error response has a paragraph for each code, with a link to its page. */
function errorsText({ responses }: Operation): string {
  return Object.entries(responses)
    .filter(([status]) => status >= "4")
    .flatMap(([status, { description }]) =>
      description.split("\n\n").map((code) => `- \`${status}\` ${code}`),
    )
    .join("\n");
}

function successesOf({ responses }: Operation) {
  return Object.entries(responses).filter(([status]) => status.startsWith("2"));
}
