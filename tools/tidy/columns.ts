/**
 * Lines have at most 100 columns, in SQL and strings too, and 120 in Markdown, except the rows of
 * its tables. `node tools/tidy/columns.ts [path]` prints the counts by folder, and the faults below
 * the path.
 */
import { join } from "node:path";
import { codeFolders, pages, printFaults, readFiles, type TextFile } from "./files.ts";
import type { Fault } from "./source.ts";

/** The most columns of a line, and of a line of Markdown. */
const maxColumns = 100;
const maxMarkdownColumns = 120;

/** The formatter never breaks the import of one name. */
const importOfOne = /^(?:import|export) (?:type )?\{ [^,]+ \} from "[^"]+";$/;

/** `buf format` joins the lines of these: the head of an `rpc`, and a field with one string. */
const joinedInProtos: readonly RegExp[] = [
  /^ {2}rpc \w+\((?:stream )?[\w.]+\) returns \((?:stream )?[\w.]+\)(?: \{|;)$/,
  /^ {2}(?:optional )?[\w.]+ \w+ = \d+ \[\([\w.]+\)[\w.]* = (?:\{\w+: )?"(?:[^"\\]|\\.)*"\}?\];$/,
];

/** Prisma takes no line break inside an attribute. */
const relation = /^ {2}\w+ +\w+\?? +@relation\(.*\)$/;

/** Returns a fault for each line over the limit. A character outside the BMP is one column. */
export function columnFaults({ path, text }: TextFile): Fault[] {
  const limit = path.endsWith(".md") ? maxMarkdownColumns : maxColumns;
  return text.split("\n").flatMap((line, index) => {
    const columns = [...line].length;
    return columns > limit && !cannotBreak(path, line)
      ? [`${path}:${index + 1} has ${columns} columns: ${limit} is the limit`]
      : [];
  });
}

function cannotBreak(path: string, line: string): boolean {
  if (path.endsWith(".md")) return /^\s*\|/.test(line);
  if (path.endsWith(".proto")) return joinedInProtos.some((pattern) => pattern.test(line));
  if (path.endsWith(".prisma")) return relation.test(line);
  return importOfOne.test(line);
}

if (process.argv[1] === import.meta.filename) {
  const files = readFiles(join(import.meta.dirname, "../.."), [...codeFolders, ...pages]);
  printFaults(files.flatMap(columnFaults), process.argv[2]);
}
