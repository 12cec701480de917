/** The key that seals ledger credentials when nobody has set one: made once, kept beside the embedded data. */
import { randomBytes, randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** AES-256 takes this many. */
const keyBytes = 32;

/** SECRET_KEY where it is set; else the one kept in the data folder, made there on the first start: 32 bytes in base64, whole or not there. */
export async function secretKeyOf(env: NodeJS.ProcessEnv, dataFolder: string): Promise<string> {
  if (env.SECRET_KEY) return env.SECRET_KEY;
  const file = join(dataFolder, "secret-key");
  await mkdir(dataFolder, { recursive: true });
  const made = `${file}.${randomUUID()}`;
  await writeFile(made, `${randomBytes(keyBytes).toString("base64")}\n`, { mode: 0o600 });
  try {
    // A link, not a rename: it never replaces the key that an earlier start, or another at this moment, has begun to seal with.
    await link(made, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(made);
  }
  return (await readFile(file, "utf8")).trim();
}
