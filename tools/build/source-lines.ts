/**
 * Shows files and lines of the sources in the stacks of a build. Node's own source maps are read at
 * every start, which takes a sixth of it and stays in memory. Here the map of a file is read when a
 * stack names that file for the first time.
 */
import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { fileURLToPath } from "node:url";
import { builtNames } from "../../src/assets.ts";

/** The map of each file that a stack has named, by the file's URL. Null if it has none. */
const maps = new Map<string, SourceMap | null>();

const folder = new URL(".", import.meta.url).href;

/**
 * Temporal's worker runs the workflows once where they must fail, and Node writes that stack. It is
 * never shown, and the maps behind it would take 10 MB of every worker.
 */
const unshown = `/${builtNames.workflowBundle}`;

/** Node's own errors, whose code is a part of the first line of their stack. */
const ownCode = /^ERR_[A-Z0-9_]+$/;

function mapOf(url: string): SourceMap | null {
  const known = maps.get(url);
  if (known !== undefined) return known;
  let map: SourceMap | null = null;
  try {
    map = new SourceMap(JSON.parse(readFileSync(fileURLToPath(`${url}.map`), "utf8")));
  } catch {
    // A file of other packages, or one whose map was left out of the installation.
  }
  maps.set(url, map);
  return map;
}

/** Returns the line of a stack. A file of the build's folder gets its place in the sources. */
function lineOf(frame: NodeJS.CallSite): string {
  const text = frame.toString();
  const [url, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()];
  if (!url?.startsWith(folder) || line === null || column === null) return text;
  const origin = mapOf(url)?.findOrigin(line, column);
  if (origin === undefined || !("fileName" in origin)) return text;
  const { fileName, lineNumber, columnNumber } = origin;
  const place = `${fileURLToPath(new URL(fileName, url))}:${lineNumber}:${columnNumber}`;
  return text.replace(`${url}:${line}:${column}`, place);
}

function headOf(error: Error): string {
  const head = Error.prototype.toString.call(error);
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" && ownCode.test(code) && head.startsWith(error.name)
    ? `${error.name} [${code}]${head.slice(error.name.length)}`
    : head;
}

/** Lets every stack of this thread name files and lines of the sources from now on. */
export function showSourceLines(): void {
  Error.prepareStackTrace = (error, frames) => {
    const isUnshown = frames[0]?.getFileName()?.endsWith(unshown);
    const lines = frames.map((frame) => `    at ${isUnshown ? frame.toString() : lineOf(frame)}`);
    return [headOf(error), ...lines].join("\n");
  };
}
