/**
 * Finds folders that import each other, also over a third folder. None of them can be read, tested
 * or moved alone. Imports of types make no circle.
 */
import { dirname, posix } from "node:path";
import { importsOf } from "./layers.ts";
import type { Fault, Source } from "./source.ts";

/** An import of values from one folder into another. Both stand in the same folder. */
interface Way {
  readonly from: string;
  readonly to: string;
  readonly path: string;
  readonly line: number;
}

/**
 * Returns a fault for each import of values below `root` that closes a circle of folders. A file
 * may import from a folder above or below its own, because a folder is one subject with its
 * sub-folders.
 */
export function circleFaults(sources: readonly Source[], root: string): Fault[] {
  const ways = sources.filter(({ path }) => path.startsWith(root)).flatMap(waysOf);
  return ways
    .filter(({ from, to }) => reachable(ways, to).has(from))
    .map(
      ({ from, to, path, line }) => `${path}:${line} must not import ${to}, which imports ${from}`,
    );
}

function waysOf(source: Source): Way[] {
  const { path } = source;
  return importsOf(source).flatMap(({ specifier, typeOnly, line }) => {
    if (typeOnly || !specifier.startsWith(".")) return [];
    const target = posix.join(dirname(path), specifier);
    const [from, to] = partingFolders(dirname(path).split("/"), dirname(target).split("/"));
    return from === null || to === null ? [] : [{ from, to, path, line }];
  });
}

/** The folders at which two paths part. Null for a path that contains the other. */
function partingFolders(one: readonly string[], other: readonly string[]) {
  const shared = one.findIndex((name, index) => name !== other[index]);
  const first = (names: readonly string[]) =>
    shared < 0 || names.length <= shared ? null : names.slice(0, shared + 1).join("/");
  return [first(one), first(other)] as const;
}

/** The folder with all folders that it imports, also over others. */
function reachable(ways: readonly Way[], start: string): ReadonlySet<string> {
  const found = new Set([start]);
  for (const folder of found) for (const { from, to } of ways) if (from === folder) found.add(to);
  return found;
}
