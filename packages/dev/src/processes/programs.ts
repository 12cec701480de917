/** Finds programs of this machine: on PATH, or by their file. */
import { access, constants, stat } from "node:fs/promises";
import { delimiter, join } from "node:path";

/** Returns the absolute path of the first program of that name on PATH, or undefined. */
export async function findOnPath(
  name: string,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  for (const folder of (env.PATH ?? "").split(delimiter).filter((part) => part !== "")) {
    const path = join(folder, name);
    if (await isProgram(path)) return path;
  }
  return undefined;
}

/** Returns true for a file that this user may execute. */
export async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
