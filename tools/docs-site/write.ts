/** Writes the documentation sites (a step of `npm run gen`). Each port serves one. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { siteFiles } from "./site.ts";

/** Writes the sites of the repository at `root` into `folder`, by reader, with nothing else. */
export function writeDocsSites(root: string, openapiFile: string, folder: string): void {
  const document = JSON.parse(readFileSync(openapiFile, "utf8"));
  rmSync(folder, { recursive: true, force: true });
  for (const reader of ["platforms", "operators"] as const)
    for (const { path, content } of siteFiles(root, document, reader)) {
      const file = join(folder, reader, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
}
