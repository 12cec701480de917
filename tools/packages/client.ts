/** Compiles `packages/client` before it is packed (`npm pack -w packages/client`). */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { awaitProgram } from "../run-program.ts";

const root = join(import.meta.dirname, "../..");

await awaitProgram(root, "node", ["tools/gen.ts"]);
rmSync(join(root, "packages/client/dist"), { recursive: true, force: true });
await awaitProgram(root, "tsc", ["--project", "packages/client"]);
