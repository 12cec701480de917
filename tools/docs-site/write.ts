/** Writes the documentation site (a step of `npm run gen`). The API serves its files. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { siteFiles } from "./site.ts";

/** Writes the site of the repository at `root` into `folder`, with nothing else. */
export function writeDocsSite(root: string, openapiFile: string, folder: string): void {
  const files = siteFiles(root, JSON.parse(readFileSync(openapiFile, "utf8")));
  rmSync(folder, { recursive: true, force: true });
  for (const { path, content } of files) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}
