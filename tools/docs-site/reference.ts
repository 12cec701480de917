/**
 * The reference: the OpenAPI document as Markdown, so that it is rendered like the guides. A page
 * for each tag, operation, object and event.
 */
import type { OpenApi, Schema } from "./openapi.ts";
import {
  introductionText,
  operationBeside,
  operationText,
  type Route,
  resourceText,
  routeName,
  routesOf,
  tagAddress,
  webhookTag,
} from "./operation-text.ts";
import type { Page } from "./page.ts";
import {
  jsonBlock,
  membersText,
  objectAddress,
  objectsAddress,
  parametersText,
  schemaLink,
  section,
} from "./schema-text.ts";

const objectsSubject = "The objects of requests and answers, by name.";

/** Returns the pages of the reference. The first is the introduction. */
export function referencePages(document: OpenApi): readonly Page[] {
  const routes = routesOf(document);
  const tags = document.tags.filter(({ name }) => name !== webhookTag);
  return [
    page("/docs/reference", introductionText(document, routes)),
    ...tags.flatMap((tag) => {
      const tagged = routes.filter(({ tags: [name] }) => name === tag.name);
      return [
        page(tagAddress(tag.name), resourceText(tag, tagged)),
        ...tagged.map((route) => operationPage(route, document)),
      ];
    }),
    ...objectPages(document, routes),
    ...eventPages(document),
  ];
}

function page(address: string, markdown: string, further: Partial<Page> = {}): Page {
  return { address, source: null, markdown: `${markdown}\n`, ...further };
}

function operationPage(route: Route, document: OpenApi): Page {
  const beside = operationBeside(route);
  return page(route.address, operationText(route, document), { name: routeName(route), beside });
}

function objectPages({ components }: OpenApi, routes: readonly Route[]): readonly Page[] {
  const objects = Object.entries(components.schemas);
  const items = objects.map(([name]) => `- ${schemaLink(name)}`);
  return [
    page(objectsAddress, `# Objects\n\n${objectsSubject}\n\n${items.join("\n")}`, {
      name: "Objects",
    }),
    ...objects.map(([name, schema]) =>
      page(
        objectAddress(name),
        [
          `# ${name}`,
          schema.description ?? "",
          section("Members", membersText(schema)),
          section("Where it is", usesText(name, objects, routes)),
        ]
          .filter((part) => part !== "")
          .join("\n\n"),
      ),
    ),
  ];
}

/** The operations and the objects that name an object. */
function usesText(
  name: string,
  objects: readonly (readonly [string, Schema])[],
  routes: readonly Route[],
): string {
  const names = (value: unknown) =>
    JSON.stringify(value).includes(`"#/components/schemas/${name}"`);
  return [
    ...routes
      .filter(({ responses, requestBody }) => names([responses, requestBody]))
      .map(({ summary, address }) => `- [${summary}](${address})`),
    ...objects.filter(([, schema]) => names(schema)).map(([other]) => `- ${schemaLink(other)}`),
  ].join("\n");
}

function eventPages({ tags, webhooks }: OpenApi): readonly Page[] {
  const events = Object.entries(webhooks);
  const [first] = events.map(([, { post }]) => post);
  const addressOf = (type: string) => `${tagAddress(webhookTag)}/${type.replaceAll(/[._]/g, "-")}`;
  const items = events.map(
    ([type, { post }]) => `- [${type}](${addressOf(type)})\\\n  ${post.summary}`,
  );
  const answers = Object.entries(first?.responses ?? {}).map(
    ([status, { description }]) => `- \`${status}\`: ${description}`,
  );
  const overview = [
    "# Webhook events",
    tags.find(({ name }) => name === webhookTag)?.description ?? "",
    `Each request has one ${schemaLink("Event")}. [Webhooks](/docs/webhooks) is the guide.`,
    section("Events", items.join("\n")),
    section("Header", parametersText(first?.parameters ?? [])),
    section("Answers of the endpoint", answers.join("\n")),
  ].join("\n\n");
  return [
    page(tagAddress(webhookTag), overview),
    ...events.map(([type, { post }]) =>
      page(
        addressOf(type),
        `# ${type}\n\n${post.description}\n\nThe body is an ${schemaLink("Event")}.`,
        {
          beside: section(
            "Example",
            jsonBlock(post.requestBody?.content["application/json"].example),
          ),
        },
      ),
    ),
  ];
}
