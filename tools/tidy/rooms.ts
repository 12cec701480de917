/** Who may import whom. biome.json says the same in its own form, so that an editor shows it; here it is complete. */
import { dirname, posix } from "node:path";
import { type Fault, matches, type Source } from "./source.ts";

interface Room {
  /** Folders and files of the room, as prefixes of paths. */
  readonly paths: readonly string[];
  /** Prefixes of paths that it may import beside its own. `null`: everything. */
  readonly imports: readonly string[] | null;
  /** Prefixes of which it may import types only. */
  readonly typesOf?: readonly string[];
  /** Packages that it must not import, as prefixes; `node:` stands for all of Node's own. */
  readonly packagesNever?: readonly string[];
  /** The only packages that it may import. */
  readonly packagesOnly?: readonly string[];
}

/** Only the store speaks SQL; beside it the demo ledger, which is a server of its own with tables of its own. */
const database = ["pg", "@prisma/"];

const protos = "src/gen/proto/";

/** Where a process may die in the fault tests: no part of any room. */
const checkpoint = "src/checkpoint.ts";

/** The rooms. A file outside all of them (app.ts, start.ts and their like, tests, tools) may import everything. */
export const rooms: Readonly<Record<string, Room>> = {
  // Pure: no IO, no clock, no randomness. `node:assert` alone does none of it.
  domain: { paths: ["src/domain/"], imports: [], packagesOnly: ["node:assert"] },
  store: {
    paths: ["src/store/"],
    imports: ["src/domain/", "src/gen/prisma/"],
    packagesNever: ["@connectrpc/", "@temporalio/", "undici"],
  },
  ledger: {
    paths: ["src/ledger/"],
    imports: ["src/domain/"],
    packagesNever: ["@connectrpc/", "@temporalio/", "@prisma/"],
  },
  services: {
    paths: ["src/services/"],
    imports: [
      "src/domain/",
      "src/store/",
      "src/ledger/port.ts",
      protos,
      "src/rpc/caller.ts",
      "src/rpc/implementation.ts",
      "workflows/contract.ts",
      checkpoint,
    ],
    typesOf: ["src/rpc/"],
    packagesNever: database,
  },
  // Talks to the admin services over the wire and knows their contract alone; it reads and writes messages as the gateway does.
  commandLine: {
    paths: ["src/admin/cli/"],
    imports: [protos, "src/gateway/", "src/rpc/operation.ts", "src/rpc/enum-words.ts"],
    packagesNever: [...database, "@temporalio/"],
  },
  // The services of the application's side.
  admin: {
    paths: ["src/admin/"],
    imports: [
      "src/domain/",
      "src/store/",
      "src/ledger/port.ts",
      "src/webhooks/",
      protos,
      "src/rpc/caller.ts",
      "src/rpc/implementation.ts",
      "src/rpc/api-key.ts",
      "src/services/enums.ts",
      "src/services/present.ts",
    ],
    packagesNever: [...database, "@temporalio/"],
  },
  rpc: {
    paths: ["src/rpc/"],
    imports: [
      protos,
      "src/domain/refusal.ts",
      "src/store/access.ts",
      "src/store/operator-access.ts",
      "src/store/idempotency.ts",
      checkpoint,
    ],
    packagesNever: [...database, "@temporalio/"],
  },
  gateway: {
    paths: ["src/gateway/"],
    // The options and the HTTP rules, no billing word.
    imports: [`${protos}billing/options/`, `${protos}google/api/`],
    typesOf: ["src/rpc/"],
    packagesNever: [...database, "@temporalio/", "undici"],
  },
  activities: {
    paths: ["src/activities/"],
    imports: ["src/domain/", "src/store/", "src/ledger/", "src/webhooks/", "workflows/contract.ts", checkpoint],
    packagesNever: [...database, "@connectrpc/"],
  },
  // Deterministic: whatever else they imported would be replayed too.
  workflows: {
    paths: ["workflows/"],
    imports: [],
    typesOf: ["src/activities/"],
    packagesOnly: ["@temporalio/workflow"],
  },
  webhooks: {
    paths: ["src/webhooks/"],
    imports: ["src/domain/"],
    packagesNever: [...database, "@connectrpc/", "@temporalio/"],
  },
  temporal: {
    paths: ["src/temporal/"],
    imports: ["src/domain/", "src/store/", "src/activities/", "workflows/contract.ts"],
    packagesNever: [...database, "@connectrpc/"],
  },
};

interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
  readonly line: number;
}

/** Imports that cross from one room into another that it must not know. */
export function roomFaults(source: Source): Fault[] {
  const found = Object.entries(rooms).find(([, { paths }]) => isBelow(source.path, paths));
  if (found === undefined) return [];
  const [name, room] = found;
  return importsOf(source)
    .filter((entry) => !isAllowed(source.path, room, entry))
    .map(({ specifier, line }) => `${source.path}:${line} ${name} must not import ${specifier}`);
}

function isAllowed(path: string, room: Room, { specifier, typeOnly }: Import): boolean {
  if (!specifier.startsWith(".")) {
    const never = room.packagesNever ?? [];
    // The demo ledger keeps its own tables, which the store must not know.
    const isDemoTable = specifier === "pg" && path.startsWith("src/ledger/demo/");
    if (room.packagesOnly !== undefined) return isPackage(specifier, room.packagesOnly);
    return isDemoTable || !isPackage(specifier, never);
  }
  const target = posix.join(dirname(path), specifier);
  if (room.imports === null || isBelow(target, [...room.paths, ...room.imports])) return true;
  return typeOnly && isBelow(target, room.typesOf ?? []);
}

function isPackage(specifier: string, names: readonly string[]): boolean {
  return names.some((name) => specifier === name || specifier.startsWith(name.endsWith("/") ? name : `${name}/`));
}

function isBelow(path: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => path === prefix || (prefix.endsWith("/") && path.startsWith(prefix)));
}

/** The imports and re-exports of a file. A specifier is the string that follows `from`, `import` or `import(`. */
export function importsOf({ code, text }: Source): Import[] {
  const statement = /\b(?:(import|export)\s+(type\s+)?[^;"'`]*?\bfrom\s*|import\s*\(?\s*)(["'])/g;
  return matches(code, statement).map(({ match, line }) => {
    const start = match.index + match[0].length;
    return {
      specifier: text.slice(start, text.indexOf(match[3] ?? '"', start)),
      typeOnly: match[2] !== undefined,
      line: line + match[0].split("\n").length - 1,
    };
  });
}
