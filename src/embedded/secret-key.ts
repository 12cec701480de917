/** The key that seals ledger credentials when nobody has set one: made once, kept beside the data that it seals. */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** SECRET_KEY where it is set; else the one kept in the data folder, made there on the first start: 32 bytes in base64. */
export async function secretKeyOf(env: NodeJS.ProcessEnv, dataFolder: string): Promise<string> {
  if (env.SECRET_KEY) return env.SECRET_KEY;
  const file = join(dataFolder, "secret-key");
  await mkdir(dataFolder, { recursive: true });
  try {
    // `wx`: of two starts at once, one makes it and both read it. Only its owner may.
    await writeFile(file, `${randomBytes(32).toString("base64")}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return (await readFile(file, "utf8")).trim();
}
