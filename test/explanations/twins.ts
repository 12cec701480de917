/** The two verifiers over the same texts: the one in TypeScript, and its twin in Python. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { verify } from "../../packages/verify/src/verify.ts";

const program = join(import.meta.dirname, "../../packages/verify/python/verify.py");
const maxAnswerBytes = 256 * 1024 * 1024;

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

/** Whether Python is here. If not, says that the test did not run. */
export function isPythonHere(test: string): boolean {
  const { error, status } = spawnSync("python3", ["--version"]);
  const isHere = error === undefined && status === 0;
  if (!isHere) console.log(`${test} did not run, because there is no python3`);
  return isHere;
}

/** The answers of the twin to texts of one line each, from one run. */
export function askTwin(texts: readonly (string | Buffer)[]): readonly string[] {
  const input = Buffer.concat(texts.flatMap((text) => [Buffer.from(text), Buffer.from("\n")]));
  const options = { input, maxBuffer: maxAnswerBytes };
  const { stdout, stderr } = spawnSync("python3", [program, "--lines"], options);
  const answers = stdout.toString().split("\n").slice(0, -1);
  if (answers.length !== texts.length) throw new Error(`no answer of each: ${stderr}`);
  return answers;
}

/** Asks both about each text, which has one line. */
export async function askBoth(texts: readonly string[]): Promise<Verdicts> {
  const answers = askTwin(texts);
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
