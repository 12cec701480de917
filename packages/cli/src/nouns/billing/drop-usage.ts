/**
 * Exports usage events to a file, and drops the events of such a file. Both take page after page,
 * so that an export may have any size. USAGE-18
 */
import { createHash } from "node:crypto";
import { UsageService } from "../../../../../src/gen/proto/billing/admin/v1/usage_pb.ts";
import { callJson } from "../../call-json.ts";
import { UsageError } from "../../failures.ts";
import type { Work } from "../../noun.ts";
import type { Json } from "../../output/message-json.ts";
import type { Terminal } from "../../terminal.ts";

const { method } = UsageService;

/** The most lines of a DropUsageEventsRequest, and their size. A request may have 1 MiB. */
const maxLines = 1_000;
const maxBytes = 400_000;

/**
 * Writes the events to a new file, whose name it has only once it is whole and on disk. Returns
 * their number and the file's SHA-256.
 */
export async function exportUsage({ terminal, connection, request, extra }: Work): Promise<Json> {
  const path = pathOf(extra.to);
  const hash = createHash("sha256");
  let events = 0;
  const file = await terminal.create(path);
  try {
    for (let next: Json | null = request; next !== null; ) {
      const page: Json = await callJson(connection, method.exportUsageEvents, next);
      const lines = linesOf(page);
      const text = lines.map((line) => `${line}\n`).join("");
      hash.update(text);
      await file.write(text);
      events += lines.length;
      if (terminal.interactive) terminal.err(`\r${events} events`);
      const cursor = page.next_cursor;
      next = typeof cursor === "string" ? { ...request, cursor } : null;
    }
    await file.finish();
  } finally {
    await file.close();
  }
  if (terminal.interactive) terminal.err("\n");
  return { file: path, events, checksum: hash.digest("hex") };
}

/**
 * Drops the events of a file, once it is the whole export that its number and checksum name. What
 * a broken off command has dropped is passed over.
 */
export async function dropUsage({ terminal, connection, request, extra }: Work): Promise<Json> {
  const path = pathOf(extra.from);
  await requireExport(terminal, path, request);
  let [dropped, before] = [0, 0];
  for await (const lines of chunks(terminal.lines(path))) {
    const answer = await callJson(connection, method.dropUsageEvents, { ...request, lines });
    dropped += Number(answer.dropped ?? 0);
    before += Number(answer.dropped_before ?? 0);
    if (terminal.interactive) terminal.err(`\r${dropped + before} events`);
  }
  if (terminal.interactive) terminal.err("\n");
  return { dropped, dropped_before: before };
}

/** Throws `UsageError` unless the file has this many lines and this SHA-256. */
async function requireExport(terminal: Terminal, path: string, request: Json): Promise<void> {
  const hash = createHash("sha256");
  let events = 0;
  for await (const line of terminal.lines(path)) {
    hash.update(`${line}\n`);
    events += 1;
  }
  const checksum = hash.digest("hex");
  if (String(events) === String(request.export_events) && checksum === request.export_checksum)
    return;
  throw new UsageError(
    `${path} is not that export: it has ${events} events and the checksum ${checksum}`,
  );
}

async function* chunks(all: AsyncIterable<string>): AsyncGenerator<string[]> {
  let [lines, bytes]: [string[], number] = [[], 0];
  for await (const line of all) {
    if (lines.length === maxLines || (lines.length > 0 && bytes + line.length > maxBytes)) {
      yield lines;
      [lines, bytes] = [[], 0];
    }
    lines.push(line);
    bytes += Buffer.byteLength(line);
  }
  if (lines.length > 0) yield lines;
}

function pathOf(option: unknown): string {
  if (typeof option === "string" && option !== "") return option;
  throw new UsageError("A file is required");
}

function linesOf({ lines }: Json): readonly string[] {
  return Array.isArray(lines) ? lines.map(String) : [];
}
