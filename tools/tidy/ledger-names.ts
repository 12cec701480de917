/**
 * A ledger is a plug (LEDGER-7): outside its folder and its line in the registry no file of the
 * service names it.
 */
import { type Fault, matches, type Source } from "./source.ts";

/** The kinds of ledger, as a word of any case in code, comments and strings. */
const names = /xero|tryton/gi;

/**
 * The only places in the service that may name a kind: its folder, the registry, the demo ledger
 * and the local start, which runs it.
 */
const allowed = [
  "src/ledger/xero/",
  "src/ledger/tryton/",
  "src/ledger/index.ts",
  "packages/demo-ledger/src/",
  "packages/dev/src/",
] as const;

/** Returns a fault for each line of the service that names a kind of ledger. */
export function ledgerNameFaults({ path, text }: Pick<Source, "path" | "text">): Fault[] {
  const isOfService = path.startsWith("src/") || path.startsWith("workflows/");
  if (!isOfService || allowed.some((prefix) => path.startsWith(prefix))) return [];
  return matches(text, names).map(
    ({ match, line }) => `${path}:${line} "${match[0]}": read the registry's entry instead`,
  );
}
