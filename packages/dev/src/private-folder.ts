/** Folders of embedded data, closed to other users of the machine. */
import { chmod, mkdir, stat } from "node:fs/promises";

/**
 * Other users may pass through but not list it, because root runs PostgreSQL as another user below
 * this folder.
 */
const passable = 0o711;

/** A sticky folder such as `/tmp` is shared and keeps its mode. */
const sticky = 0o1000;

/**
 * Creates the folder, or closes an existing one of this user. As root it leaves the folder passable
 * for PostgreSQL's user, unless `whole` is set.
 */
export async function privateFolder(folder: string, { whole = false } = {}): Promise<void> {
  const user = process.getuid?.();
  const mode = whole || user !== 0 ? 0o700 : passable;
  await mkdir(folder, { recursive: true, mode });
  const found = await stat(folder);
  if (found.uid === user && (found.mode & sticky) === 0) await chmod(folder, found.mode & mode);
}
