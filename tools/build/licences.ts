/** The licences of the packages whose code is in a build. Most require that they come with it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Returns the licences of the packages in these folders, as one text. */
export function licenceText(root: string, folders: readonly string[]): string {
  return folders.map((folder) => licenceOf(root, folder)).join("\n\n");
}

function licenceOf(root: string, folder: string): string {
  const path = join(root, folder);
  const { name, version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  const texts = readdirSync(path)
    .filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file))
    .map((file) => readFileSync(join(path, file), "utf8").trim());
  return [`${name} ${version} (${license ?? "no licence named"})`, ...texts].join("\n\n");
}
