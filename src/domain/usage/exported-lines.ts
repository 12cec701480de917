/** Reads what an export and a drop of usage events name. USAGE-18. */
import { Refusal } from "../refusal.ts";

/**
 * Returns the end of a month in UTC. Refuses `invalid_parameter`, param `last_month`, for a month
 * that is not over.
 */
export function endOfMonth(month: string, now: Date): Date {
  const [year = 0, number = 0] = month.split("-").map(Number);
  const end = new Date(Date.UTC(year, number, 1));
  if (end <= now) return end;
  throw new Refusal("invalid_parameter", `The month ${month} is not over in UTC.`, "last_month");
}

/**
 * Returns the lines by the ids of their events. Refuses `invalid_parameter`, param `lines`, for a
 * line without an id, and for two of one id.
 */
export function readExportedLines(lines: readonly string[]): ReadonlyMap<string, string> {
  const byId = new Map(lines.map((line) => [idOf(line), line]));
  if (byId.size === lines.length) return byId;
  throw new Refusal("invalid_parameter", "Two lines are of one event.", "lines");
}

function idOf(line: string): string {
  const read = parse(line);
  if (typeof read === "object" && read !== null && "id" in read && typeof read.id === "string")
    return read.id;
  throw new Refusal("invalid_parameter", "A line is not an exported event.", "lines");
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
