/** The two verifiers over the same texts: the one in TypeScript, and its twin in Python. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { verify } from "../../packages/verify/src/verify.ts";

const program = join(import.meta.dirname, "../../packages/verify/python/verify.py");

/** A text of which the verifiers say different things. */
export interface Disagreement {
  readonly text: string;
  readonly typescript: string;
  readonly python: string;
}

/** What both say of each text: where they agree, and where not. */
export interface Verdicts {
  readonly verified: number;
  readonly refused: number;
  readonly disagreements: readonly Disagreement[];
}

let isHere: boolean | null = null;

/** Whether Python is here. If not, says that the test did not run. */
export function isPythonHere(test: string): boolean {
  isHere ??= spawnSync("python3", ["--version"]).status === 0;
  if (!isHere) console.log(`${test} did not run, because there is no python3`);
  return isHere;
}

/** The answers of the twin to texts of one line each, from one run. */
export async function askTwin(texts: readonly (string | Buffer)[]): Promise<readonly string[]> {
  // Without the packages of the machine, which take half of the start.
  const run = spawn("python3", ["-IS", program, "--lines"]);
  const ended = once(run, "close");
  run.stdin.end(Buffer.concat(texts.flatMap((one) => [Buffer.from(one), Buffer.from("\n")])));
  const [stdout, stderr] = await Promise.all([readText(run.stdout), readText(run.stderr), ended]);
  const answers = stdout.split("\n").slice(0, -1);
  if (answers.length !== texts.length) throw new Error(`no answer of each: ${stderr}`);
  return answers;
}

/** Asks both about each text, which has one line. */
export async function askBoth(texts: readonly string[]): Promise<Verdicts> {
  const answers = await askTwin(texts);
  const disagreements: Disagreement[] = [];
  let verified = 0;
  for (const [index, text] of texts.entries()) {
    const verdict = await verify(text);
    const python = answers[index] ?? "";
    if (verdict.verified) verified += 1;
    if (verdict.verified !== python.startsWith("verified"))
      disagreements.push({ text, typescript: JSON.stringify(verdict), python });
  }
  return { verified, refused: texts.length - verified, disagreements };
}
