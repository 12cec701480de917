/** Builds the console into `dist/console`, as a start from the sources does when it is due. */
import { join } from "node:path";
import { buildConsole } from "./build/console.ts";

const root = join(import.meta.dirname, "..");
await buildConsole(root, join(root, "dist/console"));
