/**
 * `npm run build`: builds `dist/`, which runs with Node and the dependencies of package.json alone.
 */
import { chmodSync, cpSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtNames } from "../src/assets.ts";
import { buildConsole } from "./build/console.ts";
import { bundledPackages, layBuild } from "./build/lay-build.ts";
import { programs } from "./build/programs.ts";
import { billOfMaterials } from "./build/sbom.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

const began = performance.now();
rmSync(dist, { recursive: true, force: true });
const code = await layBuild(root, dist);
const ofConsole = await buildConsole(root, join(dist, builtNames.console));
const bundled = [...bundledPackages(code), ...ofConsole];
writeFileSync(join(dist, "sbom.cdx.json"), billOfMaterials(root, bundled));
// The versions with which it was built and tested, beside the bill.
cpSync(join(root, "package-lock.json"), join(dist, "package-lock.json"));
// The package's command.
chmodSync(join(dist, "billing.js"), 0o755);

const bytes = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
const seconds = ((performance.now() - began) / 1000).toFixed(1);
const names = Object.keys(programs).join(", ");
console.log(`dist/ has ${names} (${(bytes / 1e6).toFixed(1)} MB, built in ${seconds} s)`);
