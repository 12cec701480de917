/**
 * Programs that check `deploy/`. They are not packages of the project: `npm run deploy:tools`
 * installs them once, outside the repository.
 */
import { spawnSync } from "node:child_process";
import { delimiter } from "node:path";
import { toolsPath } from "../../tools/deploy-tools/places.ts";

/** The result of a program. */
export interface ToolResult {
  readonly status: number | null;
  readonly output: string;
}

/**
 * Runs a program. If it is not there, prints that the check was not made, and returns null: not
 * every machine can install it.
 */
export function tryTool(name: string, args: readonly string[], what: string): ToolResult | null {
  const env = { ...process.env, PATH: [toolsPath(), process.env.PATH].join(delimiter) };
  const ended = spawnSync(name, args, { env, encoding: "utf8" });
  if ((ended.error as NodeJS.ErrnoException | undefined)?.code === "ENOENT") {
    console.log(`${what} was NOT checked: ${name} is not there (npm run deploy:tools installs it)`);
    return null;
  }
  return { status: ended.status, output: `${ended.stdout}${ended.stderr}` };
}
