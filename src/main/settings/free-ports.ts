/** Checks the ports of a process before it opens one, so that all taken ones are named at once. */
import { createServer } from "node:net";
import { type ConfiguredPart, SettingError } from "../../config.ts";
import { listenFault } from "../../transport/http/listen-fault.ts";
import { settingsReader } from "./read-settings.ts";

/** A port that a process opens, and the setting that chooses it. */
export interface WantedPort {
  readonly setting: string;
  readonly host: string;
  readonly port: number;
}

/** Returns the ports that a part opens, except those whose own settings are wrong. */
export function wantedPorts(env: NodeJS.ProcessEnv, part: ConfiguredPart): readonly WantedPort[] {
  const worker = env.WORKER_PORT ? (["WORKER"] as const) : [];
  const metrics = env.METRICS_PORT ? (["METRICS"] as const) : [];
  const groups = part === "api" ? (["API", "ADMIN", ...metrics] as const) : worker;
  return groups.flatMap((group) => {
    const faults: string[] = [];
    const { text, whole } = settingsReader(env, (fault) => faults.push(fault));
    const setting = `${group}_PORT` as const;
    const wanted = { setting, host: text(`${group}_HOST`), port: whole(setting) };
    return faults.length === 0 ? [wanted] : [];
  });
}

/** Throws a SettingError with one line for each port that cannot be opened now. */
export async function assertPortsFree(ports: readonly WantedPort[]): Promise<void> {
  const faults = await portFaults(ports);
  if (faults.length > 0) throw new SettingError(faults.join("\n"));
}

/** Returns one line for each port that cannot be opened now. */
export async function portFaults(ports: readonly WantedPort[]): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const { setting, host, port } of ports) {
    const fault = await faultOf(host, port).then((cause) =>
      cause === null ? null : listenFault(cause, host, port, setting),
    );
    if (fault instanceof SettingError) faults.push(fault.message);
    else if (fault !== null) throw fault;
  }
  return faults;
}

function faultOf(host: string, port: number): Promise<unknown> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", resolve);
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)));
  });
}
