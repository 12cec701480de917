#!/usr/bin/env node
/** Checks explanations in files, or on the standard input without one. */
import { readFileSync } from "node:fs";
import { verify } from "./verify.ts";

const standardInput = 0;
const files = process.argv.slice(2);

for (const file of files.length === 0 ? [standardInput] : files) {
  const verdict = await verify(readFileSync(file, "utf8"));
  const name = file === standardInput ? "" : `${file}: `;
  if (verdict.verified) console.log(`${name}verified, lines: ${verdict.lines}`);
  else {
    console.log(`${name}does not follow at ${verdict.at}: ${verdict.why}`);
    process.exitCode = 1;
  }
}
