/**
 * Lines have at most 100 columns, in SQL and strings too. Prose in Markdown wraps in the reader's
 * window and is excluded. `node tools/tidy/columns.ts [path]` prints the counts by folder, and the
 * faults below the path.
 */
import { join } from "node:path";
import { codeFolders, printFaults, readFiles, type TextFile } from "./files.ts";
import type { Fault } from "./source.ts";

/** The most columns of a line. */
const maxColumns = 100;

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
  if (path.endsWith(".md")) return [];
  return text.split("\n").flatMap((line, index) => {
    const columns = [...line].length;
    return columns > maxColumns && !cannotBreak(path, line)
      ? [`${path}:${index + 1} has ${columns} columns: ${maxColumns} is the limit`]
      : [];
  });
}

function cannotBreak(path: string, line: string): boolean {
  if (path.endsWith(".proto")) return joinedInProtos.some((pattern) => pattern.test(line));
  if (path.endsWith(".prisma")) return relation.test(line);
  return importOfOne.test(line);
}

if (process.argv[1] === import.meta.filename) {
  const files = readFiles(join(import.meta.dirname, "../.."), codeFolders);
  printFaults(files.flatMap(columnFaults), process.argv[2]);
}
