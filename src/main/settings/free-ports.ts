/** Checks the ports of a process before it opens one, so that all taken ones are named at once. */
import { createServer } from "node:net";
import { SettingError } from "../../config.ts";
import { listenFault } from "../../transport/http/listen-fault.ts";

/** A port that a process opens, and the setting that chooses it. */
export interface WantedPort {
  readonly setting: string;
  readonly host: string;
  readonly port: number;
}

/** Throws a SettingError with one line for each port that cannot be opened now. */
export async function assertPortsFree(ports: readonly WantedPort[]): Promise<void> {
  const faults: string[] = [];
  for (const { setting, host, port } of ports) {
    const fault = await faultOf(host, port).then((cause) =>
      cause === null ? null : listenFault(cause, host, port, setting),
    );
    if (fault instanceof SettingError) faults.push(fault.message);
    else if (fault !== null) throw fault;
  }
  if (faults.length > 0) throw new SettingError(faults.join("\n"));
}

function faultOf(host: string, port: number): Promise<unknown> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", resolve);
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)));
  });
}
