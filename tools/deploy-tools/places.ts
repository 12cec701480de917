/** Where the programs that check `deploy/` are installed: outside the repository, once a user. */
import { homedir } from "node:os";
import { join } from "node:path";

/** Returns the folder with everything of them. */
export function toolsFolder(): string {
  const caches = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  return join(caches, "subscription-billing/deploy-tools");
}

/** Returns the folder of the programs. */
export function toolsPath(): string {
  return join(toolsFolder(), "bin");
}
