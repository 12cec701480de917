/** Checks the ports of a process before it opens one, so that all taken ones are named at once. */
import { createServer } from "node:net";
import { type ConfiguredPart, SettingError } from "../../config.ts";
import { listen } from "../../transport/http/listen.ts";
import { settingsReader } from "./read-settings.ts";

/**
 * Returns one line for each port of a part that cannot be opened now. A port whose own settings are
 * wrong is not tried.
 */
export async function takenPorts(
  env: NodeJS.ProcessEnv,
  part: ConfiguredPart,
): Promise<readonly string[]> {
  const worker = env.WORKER_PORT ? (["WORKER"] as const) : [];
  const metrics = env.METRICS_PORT ? (["METRICS"] as const) : [];
  const groups = part === "api" ? (["API", "ADMIN", ...metrics] as const) : worker;
  const taken: string[] = [];
  for (const group of groups) {
    const faults: string[] = [];
    const { text, whole } = settingsReader(env, (fault) => faults.push(fault));
    const setting = `${group}_PORT` as const;
    const wanted = { setting, host: text(`${group}_HOST`), port: whole(setting) };
    if (faults.length > 0) continue;
    const probe = createServer();
    try {
      await listen(probe, wanted);
      await new Promise((done) => probe.close(done));
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      taken.push(error.message);
    }
  }
  return taken;
}
