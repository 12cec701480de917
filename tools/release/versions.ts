/** The version of a release stands in several files, and in the changelog. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

/** Returns why the repository is not at this version, in words. Empty if it is. */
export function versionFaults(root: string, version: string): string[] {
  const chart = parse(readFileSync(join(root, "deploy/helm/Chart.yaml"), "utf8"));
  const versions = {
    "deploy/helm/Chart.yaml": chart.version,
    "deploy/helm/Chart.yaml, appVersion": chart.appVersion,
    ...Object.fromEntries(readdirSync(join(root, "packages")).map((name) => packageOf(root, name))),
  };
  const faults = Object.entries(versions)
    .filter(([, found]) => found !== version)
    .map(([place, found]) => `${place} has version ${found}`);
  if (section(root, version) === "") faults.push(`CHANGELOG.md has no section ${version}`);
  return faults;
}

function packageOf(root: string, name: string): [string, string] {
  const path = `packages/${name}/package.json`;
  return [path, JSON.parse(readFileSync(join(root, path), "utf8")).version];
}

/** Returns what the changelog says of a version. */
export function releaseNotes(root: string, version: string): string {
  return `# Subscription Billing ${version}\n\n${section(root, version)}\n`;
}

/** The text below the heading `## VERSION`, which a date may follow. Empty without one. */
function section(root: string, version: string): string {
  const [, ...sections] = readFileSync(join(root, "CHANGELOG.md"), "utf8").split(/^## /m);
  const found = sections.find((text) => text.split(/\s/, 1)[0] === version) ?? "";
  return found.slice(found.indexOf("\n") + 1).trim();
}
