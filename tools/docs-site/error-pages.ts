/** What the pages of error codes have from the contract: the JSON, and who answers it. */
import { basename } from "node:path";
import { refusalTexts } from "../openapi/refusal-texts.ts";
import type { OpenApi, Operation } from "./openapi.ts";
import { type Route, routesOf } from "./operation-text.ts";
import type { Page } from "./page.ts";
import { jsonBlock, section } from "./schema-text.ts";

const meanings: Readonly<Record<string, string>> = refusalTexts;

/** Returns the pages with these parts. Pages that are not of error codes are unchanged. */
export function withAnswers(pages: readonly Page[], document: OpenApi): readonly Page[] {
  const routes = routesOf(document);
  return pages.map((page) => {
    if (page.address === "/docs/errors") return { ...page, markdown: withMeanings(page.markdown) };
    if (!page.address.startsWith("/docs/errors/")) return page;
    const code = basename(page.address);
    const parts = errorText(code, document, routes) ?? resultText(code, document, routes) ?? "";
    return { ...page, markdown: `${page.markdown}\n${parts}\n` };
  });
}

/** The tables of codes and statuses get a column. */
function withMeanings(markdown: string): string {
  return markdown
    .replaceAll("| code | status |\n|-|-|", "| code | status | meaning |\n|-|-|-|")
    .replaceAll(/^\| \[(\w+)\]\(.* \|$/gm, (row, code) => `${row} ${meanings[code] ?? ""} |`);
}

function errorText(code: string, { components }: OpenApi, routes: readonly Route[]) {
  const example = components.examples[code];
  if (example === undefined) return null;
  const answering = routes.filter((route) => answers(route, code));
  return partsOf(
    example.value,
    answering.length === routes.length ? "Every operation." : answering.map(itemOf).join("\n"),
  );
}

function answers({ responses }: Operation, code: string): boolean {
  return Object.values(responses).some(
    ({ content }) => content?.["application/json"].examples?.[code] !== undefined,
  );
}

/** A code of a rejected usage event is in the results of a success. */
function resultText(code: string, { components }: OpenApi, routes: readonly Route[]) {
  const codes = components.schemas.UsageEventErrorCode?.description ?? "";
  const [, message] = new RegExp(`^- \`${code}\`: (.*)$`, "m").exec(codes) ?? [];
  if (message === undefined) return null;
  const answering = routes.filter(({ operationId }) => operationId === "reportUsage");
  const result = { event_id: "evt-1", status: "rejected", error: { code, message } };
  return partsOf(result, answering.map((route) => `${itemOf(route)}, in \`results\``).join("\n"));
}

function partsOf(json: unknown, list: string): string {
  return `${section("Answer", jsonBlock(json))}\n\n${section("Answered by", list)}`;
}

function itemOf({ summary, address }: Route): string {
  return `- [${summary}](${address})`;
}
