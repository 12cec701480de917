/** docs/configuration.md is written out of the settings that the service reads. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { ledgers } from "../../src/ledger/index.ts";
import { fileSettingOf, secretNames } from "../../src/main/settings/secret-files.ts";
import { configurationPage } from "../../tools/configuration-page.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/configuration.md"), "utf8");

/** The names in the first column of the page's tables. `TEMPORAL_…` has no single name. */
const listed = [...page.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = ""]) =>
  [...cell.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name = ""]) => name),
);

/** Every variable that readConfig and its helpers read, recorded as they read it. */
function readNames(settings: Readonly<Record<string, string>>): ReadonlySet<string> {
  const names = new Set<string>();
  const env = new Proxy<NodeJS.ProcessEnv>(
    { DATABASE_URL: "postgresql://localhost/billing", ...settings },
    {
      get: (target, name) => {
        names.add(String(name));
        return target[String(name)];
      },
    },
  );
  readConfig(env);
  return names;
}

// A host is read only if its port is set.
const read = readNames({ WORKER_PORT: "0", METRICS_PORT: "0" });

function sourcesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "gen" ? [] : sourcesBelow(path);
    return path.endsWith(".ts") ? [readFileSync(path, "utf8")] : [];
  });
}

test("the page lists every setting that readConfig reads", () => {
  expect(read.size).toBeGreaterThan(25);
  expect([...read].filter((name) => !listed.includes(name))).toEqual([]);
});

test("the page lists each setting once, and none that the source does not name", () => {
  expect(listed.filter((name, at) => listed.indexOf(name) !== at)).toEqual([]);
  const source = ["src", "packages/dev/src", "packages/demo-ledger/src"]
    .flatMap((folder) => sourcesBelow(join(root, folder)))
    .join("\n");
  // The names of files are built from those of secrets.
  const files = secretNames(ledgers).map(fileSettingOf);
  const own = listed.filter((name) => !files.includes(name));
  expect(own.filter((name) => !new RegExp(`\\b${name}\\b`).test(source))).toEqual([]);
});

test("the page is the one that npm run docs:config writes", () => {
  expect(page).toBe(configurationPage());
});

test("the page lists the file of every secret", () => {
  const files = secretNames(ledgers).map(fileSettingOf);
  expect(files.length).toBeGreaterThan(6);
  expect(files.filter((name) => !listed.includes(name))).toEqual([]);
});
