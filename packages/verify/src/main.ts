#!/usr/bin/env node
/** Checks explanations in files, or on the standard input without one. */
import { readFileSync } from "node:fs";
import { verify } from "./verify.ts";

const standardInput = 0;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of the bytes. Bytes that are not UTF-8 have none, which is no JSON. */
function decoded(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return "";
  }
}

const files = process.argv.slice(2);

for (const file of files.length === 0 ? [standardInput] : files) {
  const verdict = await verify(decoded(readFileSync(file)));
  const name = file === standardInput ? "" : `${file}: `;
  if (verdict.verified) console.log(`${name}verified, lines: ${verdict.lines}`);
  else {
    console.log(`${name}does not follow at ${verdict.at}: ${verdict.why}`);
    process.exitCode = 1;
  }
}
