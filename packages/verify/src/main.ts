#!/usr/bin/env node
/**
 * Checks explanations in files, or on the standard input without one. With `--all` it checks every
 * document of an organisation, at `--url` and with `--key`, or those of the environment. Ends with
 * 0 if all is verified and agrees, with 1 if not, and with 2 if the API cannot be read.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { printAll } from "./all.ts";
import { NotReadable, openApi } from "./api.ts";
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

const { BILLING_URL = "http://127.0.0.1:8080", BILLING_API_KEY = "" } = process.env;
const { values, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: "boolean" },
    url: { type: "string", default: BILLING_URL },
    key: { type: "string", default: BILLING_API_KEY },
  },
});

if (values.all) {
  try {
    process.exitCode = (await printAll(openApi(values.url, values.key))) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof NotReadable)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
} else {
  for (const file of files.length === 0 ? [standardInput] : files) {
    const verdict = await verify(decoded(readFileSync(file)));
    const name = file === standardInput ? "" : `${file}: `;
    if (verdict.verified) console.log(`${name}verified, lines: ${verdict.lines}`);
    else {
      console.log(`${name}does not follow at ${verdict.at}: ${verdict.why}`);
      process.exitCode = 1;
    }
  }
}
