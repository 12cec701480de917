/**
 * The reference: the OpenAPI document as Markdown, so that it is rendered like the guides. A page
 * for each tag, one for the objects and one for the events.
 */
import type { OpenApi, Operation, Schema } from "./openapi.ts";
import { type Page, slugOf } from "./page.ts";
import {
  membersText,
  objectsAddress,
  parametersText,
  schemaLink,
  schemaNameOf,
  typeText,
} from "./schema-text.ts";

/** The tag of the requests that the service sends. */
const webhookTag = "webhooks";

const objectsSubject = "The objects of requests and responses, by name.";

interface Route extends Operation {
  /** `POST /v1/subscriptions`. */
  readonly request: string;
}

/** Returns the pages of the reference. The first is the introduction. */
export function referencePages(document: OpenApi): readonly Page[] {
  const tags = document.tags.filter(({ name }) => name !== webhookTag);
  const routes = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([verb, operation]): Route => {
      return { ...operation, request: `${verb.toUpperCase()} ${path}` };
    }),
  );
  const routesOf = (tag: string) => routes.filter((route) => route.tags[0] === tag);
  return [
    page("/docs/reference", introductionText(document, routesOf)),
    ...tags.map(({ name, description }) =>
      page(
        tagAddress(name),
        `# ${titleOf(name)}`,
        description,
        ...routesOf(name).map((route) => operationText(route, document)),
      ),
    ),
    page(objectsAddress, objectsText(document)),
    page(tagAddress(webhookTag), eventsText(document)),
  ];
}

function page(address: string, ...parts: readonly string[]): Page {
  return { address, source: null, markdown: `${parts.join("\n\n")}\n` };
}

function tagAddress(tag: string): string {
  return `/docs/reference/${tag.replaceAll("_", "-")}`;
}

/** The guide of the webhooks has the plain title. */
function titleOf(tag: string): string {
  if (tag === webhookTag) return "Webhook events";
  return `${tag.charAt(0).toUpperCase()}${tag.slice(1)}`.replaceAll("_", " ");
}

function introductionText(
  { info, tags }: OpenApi,
  routesOf: (tag: string) => readonly Route[],
): string {
  const lists = tags.map(({ name, description }) => {
    const address = tagAddress(name);
    const items = routesOf(name).map(
      ({ summary, request }) => `- [${summary}](${address}#${slugOf(summary)}) \`${request}\``,
    );
    return `### [${titleOf(name)}](${address})\n\n${description}\n\n${items.join("\n")}`;
  });
  const objects = `### [Objects](${objectsAddress})\n\n${objectsSubject}`;
  const parts = ["# API reference", info.description, "## Operations", ...lists, objects];
  return parts.join("\n\n");
}

/** Texts of a request have their summary as their first sentence. */
function operationText(route: Route, document: OpenApi): string {
  const { summary, description, parameters = [], requestBody } = route;
  const text = description.startsWith(`${summary}.`)
    ? description.slice(summary.length + 1).trimStart()
    : description;
  const body = requestBody?.content["application/json"].schema;
  const parts = [
    `## ${summary}`,
    `\`${route.request}\``,
    text,
    part("Parameters", parametersText(parameters)),
    ...(body === undefined
      ? []
      : [part(requestBody?.required ? "Body" : "Body (optional)", bodyText(body, document))]),
    part("Answer", answersText(route)),
    part("Errors", errorsText(route)),
    part("Samples", samplesText(route)),
  ];
  return parts.filter((one) => one !== "").join("\n\n");
}

function part(title: string, text: string): string {
  return text === "" ? "" : `### ${title}\n\n${text}`;
}

function section(title: string, text: string): string {
  return `## ${title}\n\n${text}`;
}

function bodyText(schema: Schema, { components }: OpenApi): string {
  if (schema.$ref === undefined) return membersText(schema);
  const named = components.schemas[schemaNameOf(schema.$ref)];
  return `${schemaLink(schema.$ref)}\n\n${membersText(named ?? {})}`;
}

function answersText({ responses }: Operation): string {
  return successesOf(responses)
    .map(([status, { description, content }]) => {
      const json = content?.["application/json"];
      const type = json === undefined ? "" : ` ${typeText(json.schema)}`;
      const example = json?.example === undefined ? "" : `\n\n${jsonBlock(json.example)}`;
      return `**${status}**${type}: ${description}${example}`;
    })
    .join("\n\n");
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

function successesOf(responses: Operation["responses"]) {
  return Object.entries(responses).filter(([status]) => status.startsWith("2"));
}

function samplesText({ "x-codeSamples": samples = [] }: Operation): string {
  return samples
    .map(({ label, lang, source }) => `${label}:\n\n${block(lang.toLowerCase(), source)}`)
    .join("\n\n");
}

function objectsText({ components }: OpenApi): string {
  const objects = Object.entries(components.schemas).map(([name, schema]) =>
    [`## ${name}`, schema.description ?? "", membersText(schema)]
      .filter((one) => one !== "")
      .join("\n\n"),
  );
  return ["# Objects", objectsSubject, ...objects].join("\n\n");
}

function eventsText({ tags, webhooks }: OpenApi): string {
  const events = Object.entries(webhooks);
  const [first] = events.map(([, { post }]) => post);
  const texts = events.map(([type, { post }]) => {
    const example = post.requestBody?.content["application/json"].example;
    return `## ${type}\n\n${post.description}\n\n${jsonBlock(example)}`;
  });
  const answers = Object.entries(first?.responses ?? {}).map(
    ([status, { description }]) => `- \`${status}\`: ${description}`,
  );
  return [
    `# ${titleOf(webhookTag)}`,
    tags.find(({ name }) => name === webhookTag)?.description ?? "",
    `Each request has one ${schemaLink("Event")}. [Webhooks](/docs/webhooks) is the guide.`,
    section("Header", parametersText(first?.parameters ?? [])),
    section("Answers of the endpoint", answers.join("\n")),
    ...texts,
  ].join("\n\n");
}

function jsonBlock(value: unknown): string {
  return block("json", JSON.stringify(value, null, 2));
}

function block(lang: string, source: string): string {
  return `\`\`\`${lang}\n${source}\n\`\`\``;
}
