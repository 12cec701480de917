/** Programs of the machine: whether a file is one, and where PATH has one. */
import { access, constants, stat } from "node:fs/promises";
import { delimiter, join } from "node:path";

/** The absolute path of the first program of that name on PATH; undefined when there is none. */
export async function findOnPath(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const folder of (env.PATH ?? "").split(delimiter).filter((part) => part !== "")) {
    const path = join(folder, name);
    if (await isProgram(path)) return path;
  }
  return undefined;
}

/** True for a file that this user may execute. */
export async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
