/** The names that `deploy/` may use: programs of the image, and settings that the code reads. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ledgers } from "../../src/ledger/index.ts";
import { settingNamesOf } from "../../src/ledger/port/oauth-app.ts";
import { settingSections } from "../../src/main/settings/described-settings.ts";
import { fileSettingOf, secretNames } from "../../src/main/settings/secret-files.ts";
import { unknownSettings } from "../../src/main/settings/unknown-settings.ts";

/** The folder `deploy/`. */
export const deployFolder = join(import.meta.dirname, "../../deploy");

/** The ports of the processes, as Dockerfile, compose file, chart and Prometheus use them. */
export const ports = { api: 8080, admin: 8081, worker: 8082, metrics: 8083 } as const;

/** Returns the text of a file of `deploy/`. */
export function deployed(path: string): string {
  return readFileSync(join(deployFolder, path), "utf8");
}

/** The words that the entry point of the image takes, each with the program in `dist/`. */
export function imagePrograms(): ReadonlyMap<string, string> {
  const choices = deployed("entrypoint.sh").matchAll(/^ {2}([\w -]+(?: \| [\w-]+)*)\) (\S+)/gm);
  return new Map(
    [...choices].flatMap(([, words = "", action = ""]) => {
      const program = /^program=([\w-]+)$/.exec(action)?.[1];
      return words.split("|").map((one): [string, string] => {
        const word = one.trim();
        return [word, program ?? word];
      });
    }),
  );
}

/** Returns whether some program of the image reads the setting. */
export function isSetting(name: string): boolean {
  const described = settingSections.flatMap(({ settings }) => settings.flatMap((one) => one.names));
  const ofLedgers = Object.keys(ledgers).flatMap((kind) => Object.values(settingNamesOf(kind)));
  const files = secretNames(ledgers).map(fileSettingOf);
  if ([...described, ...ofLedgers, ...files].includes(name)) return true;
  const isOfDemoLedger = name.startsWith("DEMO_LEDGER_");
  return isOfDemoLedger && unknownSettings({ [name]: "1" }, ledgers).length === 0;
}
