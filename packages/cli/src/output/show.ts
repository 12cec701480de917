/**
 * Shows a response as a table, or in a format for other programs. A value that is shown once goes
 * alone to the output, so that it can be piped.
 */
import { type DescMessage, getOption } from "@bufbuild/protobuf";
import { field as fieldExtension } from "../../../../src/gen/proto/billing/options/v1/options_pb.ts";
import { jsonName } from "../../../../src/transport/rest/json-shape.ts";
import type { Column, Verb, Work } from "../noun.ts";
import type { Terminal } from "../terminal.ts";
import { rowsOf } from "./columns.ts";
import type { OutputFormat } from "./format-names.ts";
import { jsonText } from "./json-text.ts";
import type { Json } from "./message-json.ts";
import { clean, listTable, objectTable } from "./table.ts";
import { listOf } from "./words.ts";

/** How a response is shown. Lines for a person may call `work` for more. */
interface Showing {
  readonly format: OutputFormat;
  readonly work: Work;
  /** What the verb read before the call. */
  readonly before: unknown;
}

/** Shows the response of a verb. */
export async function show(
  terminal: Terminal,
  verb: Verb,
  response: Json,
  { format, work, before }: Showing,
): Promise<void> {
  const secret = secretMember(verb.method.output);
  if (format === "json") terminal.out(jsonText(response));
  else if (format === "yaml") terminal.out((await import("./formats.ts")).yamlText(response));
  else if (format === "csv") await showCsv(terminal, verb, response);
  else if (secret !== null) showOnce(terminal, response, secret);
  else if (verb.lines !== undefined)
    showLines(terminal, response, await verb.lines(response, work, before));
  else if (verb.columns === undefined) terminal.out(objectTable(response));
  else showList(terminal, verb, response, verb.columns);
}

function showLines(terminal: Terminal, response: Json, lines: readonly string[]): void {
  terminal.out(lines.map((line) => `${clean(line)}\n`).join(""));
  noteMore(terminal, response, listOf(response.data));
}

async function showCsv(terminal: Terminal, verb: Verb, response: Json): Promise<void> {
  const { listCsv, objectCsv } = await import("./formats.ts");
  if (verb.columns === undefined) {
    terminal.out(objectCsv(response));
    return;
  }
  terminal.out(listCsv(rowsOf(verb, response), verb.columns));
  noteMore(terminal, response, listOf(response.data));
}

/** Writes pages as CSV as they come, so that a list may have any size. */
export async function showPages(
  terminal: Terminal,
  verb: Verb,
  list: AsyncIterable<Json>,
): Promise<void> {
  const { csvRows, csvTitles } = await import("./formats.ts");
  const { columns = [] } = verb;
  terminal.out(csvTitles(columns));
  for await (const page of list) {
    terminal.out(csvRows(rowsOf(verb, page), columns));
    await terminal.drained();
  }
}

function showList(
  terminal: Terminal,
  verb: Verb,
  response: Json,
  columns: readonly Column[],
): void {
  terminal.out(listTable(rowsOf(verb, response), columns));
  noteMore(terminal, response, listOf(response.data));
}

function noteMore(terminal: Terminal, response: Json, rows: readonly Json[]): void {
  if (response.has_more === true)
    terminal.err(`There are more: use --all, or ${nextPage(response, rows)}\n`);
}

function nextPage(response: Json, rows: readonly Json[]): string {
  const { next_cursor: cursor } = response;
  return typeof cursor === "string"
    ? `--cursor '${cursor}'`
    : `--starting-after ${String(rows.at(-1)?.id)}`;
}

/** The member of a response that is shown once. Null if there is none. */
function secretMember(schema: DescMessage): string | null {
  const field = schema.fields.find((each) => getOption(each, fieldExtension).secret);
  return field === undefined ? null : jsonName(field);
}

function showOnce(terminal: Terminal, response: Json, name: string): void {
  const { [name]: value, ...others } = response;
  terminal.err(objectTable(others));
  if (typeof value === "string" && value !== "") terminal.out(`${value}\n`);
  else
    terminal.err(
      "This repeats an earlier call, whose answer had the value. It is not stored: create " +
        "another.\n",
    );
}
