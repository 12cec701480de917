/** Starts a stack with the stand-in programs and waits to be killed. */
import { fileURLToPath } from "node:url";
import { startStack } from "../../src/stack.ts";
import { collectParts } from "../../src/stack-settings.ts";

const program = (name: string): string => fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
const log = (line: string): void => console.log(line);
const programs = {
  api: program("api"),
  worker: program("worker"),
  demoLedger: program("demo-ledger"),
};
await startStack({ env: process.env, log, parts: collectParts(log), programs });
console.log("all started");
setInterval(() => undefined, 60_000);
