/**
 * Runs a program from its sources: `node tools/run.js src/server.ts`. Generated code whose inputs
 * changed is generated first. JavaScript, because to strip the first file of its types costs more
 * than to load the program: everything after this one is loaded from the cache.
 */
import { enableCompileCache } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

// For this process and its children. It is below `node_modules`, so a new installation begins
// without it. If it cannot be written, a start only takes longer.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "../node_modules/.cache/compiled");
enableCompileCache(process.env.NODE_COMPILE_CACHE);

await import("./gen.ts");
// The program finds its arguments where they would be if it had been called itself.
process.argv.splice(1, 1);
const [, program = ""] = process.argv;
await import(pathToFileURL(resolve(program)).href);
