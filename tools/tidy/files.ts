/** Lists the project's own text files for the tidy rules. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** A file with its path relative to the root of the repository. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** The folders with code. */
export const codeFolders = [
  "src",
  "workflows",
  "proto",
  "prisma",
  "tools",
  "bench",
  "test",
  "packages",
];

/** The documentation outside those folders. */
export const pages = ["docs", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

/** Generated code and recorded histories follow other rules. */
const excluded = new RegExp(
  "(?:^|/)(?:node_modules|src/gen|test/histories" +
    "|packages/(?:cli|client)/dist|packages/console/src/gen" +
    "|packages/contract/(?:gen|proto))(?:/|$)",
);

const extensions = /\.(?:tsx?|js|sql|proto|prisma|html|css|sh|toml|yaml|md)$/;

/** Returns the text files below these folders or files of the repository at `root`. */
export function readFiles(root: string, entries: readonly string[]): readonly TextFile[] {
  return entries
    .flatMap((entry) => pathsBelow(root, entry))
    .filter((path) => extensions.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

function pathsBelow(root: string, path: string): readonly string[] {
  if (excluded.test(path) || !existsSync(join(root, path))) return [];
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => {
    const found = `${path}/${entry.name}`;
    if (entry.isDirectory()) return pathsBelow(root, found);
    return excluded.test(found) ? [] : [found];
  });
}

/** Prints how many faults each folder has, then each fault below the given path if there is one. */
export function printFaults(faults: readonly string[], below: string | undefined): void {
  const folderOf = (fault: string) => fault.slice(0, fault.lastIndexOf("/", fault.indexOf(":")));
  const counts = [...Map.groupBy(faults, folderOf)].sort(([a], [b]) => a.localeCompare(b));
  for (const [folder, found] of counts)
    console.log(`${String(found.length).padStart(5)} ${folder}`);
  console.log(`${String(faults.length).padStart(5)} in total`);
  if (below === undefined) return;
  for (const fault of faults.filter((each) => each.startsWith(below))) console.log(fault);
}
