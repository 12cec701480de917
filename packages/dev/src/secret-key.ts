/**
 * The key that encrypts ledger credentials if none is set (ADMIN-3). It is created once and stored
 * next to the embedded data.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The key length of AES-256. */
const keyBytes = 32;

/**
 * Returns SECRET_KEY if it is set, else the key in the data folder: 32 bytes in base64. The first
 * start creates that file, complete or not at all.
 */
export async function secretKeyOf(env: NodeJS.ProcessEnv, dataFolder: string): Promise<string> {
  if (env.SECRET_KEY) return env.SECRET_KEY;
  const file = join(dataFolder, "secret-key");
  await mkdir(dataFolder, { recursive: true });
  const unlinked = `${file}.${randomUUID()}`;
  await writeFile(unlinked, `${randomBytes(keyBytes).toString("base64")}\n`, { mode: 0o600 });
  try {
    // A link, not a rename: it never replaces a key with which another start, earlier or
    // concurrent, has begun to encrypt.
    await link(unlinked, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(unlinked);
  }
  return (await readFile(file, "utf8")).trim();
}
