/**
 * The modules that a build replaces, because what they load is for development only or stays in
 * memory.
 */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Plugin } from "esbuild";
import { activationMessages, describedMessages } from "./activation-messages.ts";

/**
 * Temporal's bundler of workflows, which loads webpack at its top. A build has the workflows
 * bundled, so the worker never calls it.
 */
const noBundler = `
const unavailable = () => { throw new Error("the workflows are bundled by npm run build") };
exports.defaultWorkflowInterceptorModules = [];
exports.moduleMatches = (name, modules) =>
  modules.some((module) => name === module || name.startsWith(module + "/"));
exports.WorkflowCodeBundler = class { constructor() { unavailable(); } };
exports.bundleWorkflowCode = async () => unavailable();
`;

/** The name in a build of the WebAssembly that compiles Prisma's queries. */
export const queryCompiler = "query-compiler.wasm";

/**
 * Prisma's client with its query compiler as a file. In base64 it is twice in memory for good: as
 * the source of a module, and as the module's text.
 */
function withCompilerFile(text: string): string | null {
  const inBase64 = /const \{ wasm \} = await import\("[^"]+"\)\s+return await \w+\(wasm\)/;
  if (!inBase64.test(text)) return null;
  const file = `readFileSync(new URL(${JSON.stringify(queryCompiler)}, import.meta.url))`;
  const replaced = text.replace(inBase64, `return new WebAssembly.Module(${file});`);
  return `import { readFileSync } from "node:fs";\n${replaced}`;
}

/**
 * Prisma's runtime with the edges of its graph of parameters in maps. Objects with a few numbers up
 * to a thousand as keys are arrays to V8, with as many places: 17 MB.
 */
function withEdgesInMaps(text: string): string | null {
  const building = new RegExp(
    String.raw`(\w+)=\{\};for\(let (\w+)=0;\2<(\w+);\2\+\+\)\{((?:(?!edges:).)*?)` +
      String.raw`\1\[(\w+)\]=(\w+)\}(\w+)\.push\(\{edges:\1\}\)`,
    "g",
  );
  const reading = /(\w+)\.edges\[(\w+)\]/g;
  const isKnown = [building, reading].every((form) => text.match(form)?.length === 2);
  if (!isKnown || text.split("edges").length !== 5) return null;
  return text
    .replace(building, "$1=new Map;for(let $2=0;$2<$3;$2++){$4$1.set($5,$6)}$7.push({edges:$1})")
    .replace(reading, "$1.edges.get($2)");
}

/**
 * The rules of protovalidate with expressions that are compiled when a field needs them. All of a
 * kind are compiled otherwise, also those that the library has in code: a seventh of a start.
 */
function withLazyExpressions(text: string): string | null {
  const eager =
    /standard\.push\(\{\s*field,\s*rule,\s*compiled: this\.compileRule\(rule\),\s*\}\)/g;
  if (text.match(eager)?.length !== 1) return null;
  const lazy = "standard.push(planOf(field, rule, () => this.compileRule(rule)))";
  const planOf = `
function planOf(field, rule, compile) {
  let compiled;
  return { field, rule, get compiled() { return (compiled ??= compile()); } };
}
`;
  return text.replace(eager, lazy) + planOf;
}

/** Temporal's native code, which stays a package. Its JavaScript is bundled. */
const nativePackage = "@temporalio/core-bridge";

/** The start of the native package, which finds the native code by a file of the package. */
function withNativePackage(text: string): string | null {
  const finder = "require('./common')";
  return text.includes(finder)
    ? text.replace(finder, `require("${nativePackage}/common.js")`)
    : null;
}

/**
 * The errors of the native package with gRPC's library loaded for the first error of a call. Each
 * thread of a worker loads this file, and that library and Node's TLS are a quarter of its start.
 */
function withLazyGrpc(text: string): string | null {
  const eager = /const grpc = __importStar\((require\("@grpc\/grpc-js"\))\);\n/;
  if (!eager.test(text) || text.match(/\bgrpc\./g)?.length !== 1) return null;
  return text.replace(eager, "").replace("grpc.Metadata", '(require("@grpc/grpc-js").Metadata)');
}

/** What the code of a workflow thread imports instead of Temporal's messages. */
const activationModule = "@temporalio/proto/activation";

/** The code of a workflow thread with the messages alone that it reads. */
function withFewMessages(text: string): string | null {
  const all = 'require("@temporalio/proto")';
  return text.split(all).length === 2 ? text.replace(all, `require("${activationModule}")`) : null;
}

/** Returns the module of these messages. The main thread loads it too, and needs none of them. */
function activationCode(root: string): string {
  const file = join(root, "node_modules/@temporalio/proto/protos/json-module.js");
  const messages = JSON.stringify(activationMessages(describedMessages(file)));
  return `
const { Root } = require("protobufjs/light");
const { patchProtobufRoot } = require("@temporalio/proto/lib/patch-protobuf-root");
const create = () => patchProtobufRoot(new Root().addJSON(${messages})).coresdk;
let coresdk;
Object.defineProperty(exports, "coresdk", { get: () => (coresdk ??= create()) });
`;
}

/** Returns the plugin of esbuild that replaces them. Throws at the end if one was not found. */
export function replacements(root: string): Plugin {
  const requiredDatabase = join(root, "tools/build/required-database.ts");
  return {
    name: "replacements",
    setup(build) {
      const found = new Set<string>();
      build.onLoad({ filter: /@temporalio\/worker\/lib\/workflow\/bundler\.js$/ }, () => {
        found.add("the bundler of workflows");
        return { contents: noBundler, loader: "js" };
      });
      build.onLoad({ filter: /\/local-stack\/postgres\/database-url\.ts$/ }, () => {
        found.add("the embedded database");
        const contents = `export * from ${JSON.stringify(requiredDatabase)};`;
        return { contents, loader: "js", resolveDir: root };
      });
      build.onLoad({ filter: /\/src\/gen\/prisma\/internal\/class\.ts$/ }, ({ path }) => {
        const contents = withCompilerFile(readFileSync(path, "utf8"));
        if (contents !== null) found.add("Prisma's query compiler");
        return { contents: contents ?? "", loader: "ts" };
      });
      build.onLoad({ filter: /\/@prisma\/client\/runtime\/client\.m?js$/ }, ({ path }) => {
        const contents = withEdgesInMaps(readFileSync(path, "utf8"));
        if (contents !== null) found.add("Prisma's graph of parameters");
        return { contents: contents ?? "", loader: "js" };
      });
      build.onLoad({ filter: /\/@bufbuild\/protovalidate\/dist\/\w+\/cel\.js$/ }, ({ path }) => {
        const contents = withLazyExpressions(readFileSync(path, "utf8"));
        if (contents !== null) found.add("the expressions of protovalidate");
        return { contents: contents ?? "", loader: "js" };
      });
      build.onResolve({ filter: new RegExp(`^${nativePackage}$`) }, () => ({
        path: join(root, "node_modules", nativePackage, "index.js"),
      }));
      build.onLoad({ filter: /\/core-bridge\/index\.js$/ }, ({ path }) => {
        const contents = withNativePackage(readFileSync(path, "utf8"));
        if (contents !== null) found.add("the start of Temporal's native package");
        return { contents: contents ?? "", loader: "js" };
      });
      build.onLoad({ filter: /\/core-bridge\/lib\/errors\.js$/ }, ({ path }) => {
        const contents = withLazyGrpc(readFileSync(path, "utf8"));
        if (contents !== null) found.add("the errors of Temporal's native package");
        return { contents: contents ?? "", loader: "js" };
      });
      const threadCode =
        /@temporalio\/worker\/lib\/workflow\/(?:workflow-worker-thread|vm-shared)\.js$/;
      build.onLoad({ filter: threadCode }, ({ path }) => {
        const contents = withFewMessages(readFileSync(path, "utf8"));
        if (contents !== null) found.add(`the messages of ${basename(path)}`);
        return { contents: contents ?? "", loader: "js" };
      });
      build.onResolve({ filter: new RegExp(`^${activationModule}$`) }, ({ path }) => ({
        path,
        namespace: "activation",
      }));
      build.onLoad({ filter: /./, namespace: "activation" }, () => ({
        contents: activationCode(root),
        resolveDir: join(root, "node_modules/@temporalio/proto"),
      }));
      build.onEnd(() => {
        if (found.size === 9) return;
        const text = `replaced only: ${[...found].join(", ")}. Correct tools/build/replacements.ts`;
        return { errors: [{ text }] };
      });
    },
  };
}
