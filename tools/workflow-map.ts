/**
 * Shortens the source map inside the bundle of the workflows. Each thread of a worker parses the
 * whole map when a run makes its first promise, during which no workflow goes on, and keeps it.
 */
import { decode, encode, type SourceMapSegment } from "@jridgewell/sourcemap-codec";

/** The beginning of the map's line, up to the base64. Bundlers write the type in several ways. */
const [lineHead, textHead] = ["//# sourceMappingURL=data:", "base64,"];

/** The parts of a source map that change here. */
interface Map3 {
  readonly sources: readonly string[];
  readonly mappings: string;
}

/**
 * Returns the code with a map that has no texts of sources, and of libraries only the first place
 * of each line. Stacks name files and lines as before. Throws if the code has no map.
 */
export function shortenMap(code: string): string {
  const line = code.lastIndexOf(lineHead);
  const start = code.indexOf(textHead, line) + textHead.length;
  if (line < 0 || start < textHead.length)
    throw new Error("the bundle of the workflows has no source map");
  const text = Buffer.from(code.slice(start).trimEnd(), "base64").toString();
  const { sourcesContent: _, ...map } = JSON.parse(text) as Map3 & { sourcesContent?: unknown };
  const isLibrary = map.sources.map((source) => source.includes("node_modules/"));
  const lines = decode(map.mappings).map((one) => withoutRepeats(one, isLibrary));
  const short = JSON.stringify({ ...map, mappings: encode(lines) });
  return `${code.slice(0, start)}${Buffer.from(short).toString("base64")}\n`;
}

function withoutRepeats(
  line: readonly SourceMapSegment[],
  isLibrary: readonly boolean[],
): SourceMapSegment[] {
  let previous: SourceMapSegment | undefined;
  return line.filter((segment) => {
    const repeats =
      segment[1] !== undefined &&
      isLibrary[segment[1]] === true &&
      segment[1] === previous?.[1] &&
      segment[2] === previous[2];
    previous = segment;
    return !repeats;
  });
}
