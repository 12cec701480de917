/**
 * Which layer may import which. This file is the only source of these rules. `docs/architecture.md`
 * draws them.
 */
import { dirname, posix } from "node:path";
import { type Fault, matches, type Source } from "./source.ts";

interface Layer {
  /** Folders and files of the layer, as prefixes of paths. */
  readonly paths: readonly string[];
  /**
   * Prefixes of paths that the layer may import in addition to its own. `null` means everything.
   */
  readonly imports: readonly string[] | null;
  /** Prefixes of paths from which it may import types only. */
  readonly typesOf?: readonly string[];
  /** Packages that it must not import, as prefixes. `node:` means all of Node's own modules. */
  readonly packagesNever?: readonly string[];
  /** The only packages that it may import. */
  readonly packagesOnly?: readonly string[];
}

/** Only the store contains SQL. The demo ledger is a separate server with its own tables. */
const database = ["pg", "@prisma/"];

const protos = "src/gen/proto/";

/**
 * The lines where the fault tests end a process. The file belongs to no layer, so every layer may
 * import it.
 */
const crashPoints = "src/crash-points.ts";

/** The values that the rules of an enum field allow. */
const enumWords = "src/transport/rpc/validation/enum-words.ts";

/** Finds the member that is meant by an unknown one. */
const nearestName = "src/domain/nearest-name.ts";

/** The errors that every layer throws for an expected no. */
const refusal = "src/domain/refusal.ts";

/** Names the errors of a database that cannot be reached. */
const unreachable = "src/store/database/errors.ts";

/** The paths of the files that the code reads, from sources and in a build. */
const assets = "src/assets.ts";

/** The files of the RPC transport that a service of either API may import. */
const callOfRpc = ["src/transport/rpc/caller.ts", "src/transport/rpc/implementation.ts"];

/**
 * The layers. A file outside all of them (entry points, src/main, tests, tools) may import
 * everything.
 */
const layers: Readonly<Record<string, Layer>> = {
  // Pure: no IO, no clock, no randomness, and nothing of Node, because browsers price plans too.
  domain: { paths: ["src/domain/"], imports: [], packagesOnly: [] },
  store: {
    paths: ["src/store/"],
    imports: ["src/domain/", "src/gen/prisma/", "src/gen/columns.ts", assets],
    packagesNever: ["@connectrpc/", "@temporalio/", "undici"],
  },
  ledger: {
    paths: ["src/ledger/"],
    imports: ["src/domain/"],
    packagesNever: ["@connectrpc/", "@temporalio/", ...database],
  },
  // What the public API shows. The services, the operators' API and the worker's events share it.
  present: {
    paths: ["src/present/"],
    imports: ["src/domain/", protos, "src/transport/rest/write-json.ts"],
    typesOf: ["src/store/"],
    packagesNever: [...database, "@connectrpc/", "@temporalio/"],
  },
  services: {
    paths: ["src/services/"],
    imports: [
      "src/present/",
      "src/domain/",
      "src/store/",
      "src/ledger/port/",
      protos,
      ...callOfRpc,
      "workflows/contract.ts",
      crashPoints,
    ],
    typesOf: ["src/transport/rpc/"],
    packagesNever: database,
  },
  // Calls the admin services over the wire, and reads and writes messages as the REST transport
  // does. It tells explanations in words.
  commandLine: {
    paths: ["packages/cli/src/"],
    imports: [
      protos,
      "src/transport/rest/",
      "src/transport/rpc/operation.ts",
      "src/domain/explanation/",
      "src/domain/money/currency.ts",
      "src/webhooks/sign.ts",
      enumWords,
      refusal,
      "src/version.ts",
    ],
    packagesNever: [...database, "@temporalio/"],
  },
  admin: {
    paths: ["src/admin/"],
    imports: [
      "src/domain/",
      "src/store/",
      "src/ledger/port/",
      "src/webhooks/",
      protos,
      ...callOfRpc,
      "src/transport/rpc/gate/api-key.ts",
      "src/present/",
    ],
    typesOf: ["src/services/"],
    packagesNever: [...database, "@temporalio/"],
  },
  rpc: {
    paths: ["src/transport/rpc/", "src/transport/places.ts"],
    imports: [protos, refusal, "src/store/access/", unreachable, crashPoints],
    packagesNever: [...database, "@temporalio/"],
  },
  rest: {
    paths: ["src/transport/rest/"],
    // The options and the HTTP rules, without any billing message.
    imports: [
      `${protos}billing/options/`,
      `${protos}google/api/`,
      "src/transport/rpc/",
      nearestName,
      refusal,
    ],
    packagesNever: [...database, "@temporalio/", "undici"],
  },
  activities: {
    paths: ["src/worker/activities/"],
    imports: [
      "src/domain/",
      "src/store/",
      "src/ledger/port/",
      "src/webhooks/",
      "workflows/contract.ts",
      crashPoints,
    ],
    packagesNever: [...database, "@connectrpc/"],
  },
  // Deterministic: a replay would also run every import.
  workflows: {
    paths: ["workflows/"],
    imports: [],
    typesOf: ["src/worker/activities/"],
    packagesOnly: ["@temporalio/workflow"],
  },
  webhooks: {
    paths: ["src/webhooks/"],
    imports: ["src/domain/"],
    packagesNever: [...database, "@connectrpc/", "@temporalio/"],
  },
  temporal: {
    paths: ["src/worker/temporal/"],
    imports: [
      "src/domain/",
      "src/store/",
      "src/worker/activities/",
      "workflows/contract.ts",
      assets,
    ],
    packagesNever: [...database, "@connectrpc/"],
  },
};

interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
  readonly line: number;
}

/** Returns a fault for each import from one layer into another that it must not import. */
export function layerFaults(source: Source): Fault[] {
  const found = Object.entries(layers).find(([, { paths }]) => isBelow(source.path, paths));
  if (found === undefined) return [];
  const [name, layer] = found;
  return importsOf(source)
    .filter((entry) => !isAllowed(source.path, layer, entry))
    .map(({ specifier, line }) => `${source.path}:${line} ${name} must not import ${specifier}`);
}

function isAllowed(path: string, layer: Layer, { specifier, typeOnly }: Import): boolean {
  if (!specifier.startsWith(".")) {
    const never = layer.packagesNever ?? [];
    if (layer.packagesOnly !== undefined) return isPackage(specifier, layer.packagesOnly);
    return !isPackage(specifier, never);
  }
  const target = posix.join(dirname(path), specifier);
  if (layer.imports === null || isBelow(target, [...layer.paths, ...layer.imports])) return true;
  return typeOnly && isBelow(target, layer.typesOf ?? []);
}

function isPackage(specifier: string, names: readonly string[]): boolean {
  return names.some(
    (name) => specifier === name || specifier.startsWith(name.endsWith("/") ? name : `${name}/`),
  );
}

function isBelow(path: string, prefixes: readonly string[]): boolean {
  return prefixes.some(
    (prefix) => path === prefix || (prefix.endsWith("/") && path.startsWith(prefix)),
  );
}

/**
 * Returns the imports and re-exports of a file. A specifier is the string after `from`, `import` or
 * `import(`.
 */
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
