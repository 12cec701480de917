/** Opens a port, or says in the words of its settings why it cannot be opened. */
import type { AddressInfo, Server } from "node:net";
import { SettingError } from "../../config.ts";

/** A port, and the setting that chooses it. */
export interface WantedPort {
  readonly setting: string;
  readonly host: string;
  /** With 0 the system chooses a free one. */
  readonly port: number;
}

/** Listens on the port, and returns its number. Rejects with an error that names the setting. */
export async function listen(server: Server, wanted: WantedPort): Promise<number> {
  const { host, port } = wanted;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ host, port, exclusive: true }, resolve);
  try {
    await promise;
    return (server.address() as AddressInfo).port;
  } catch (error) {
    throw listenFault(error, wanted);
  } finally {
    server.off("error", reject);
  }
}

/** Returns an error that names the setting of the port or of its host, if one is the cause. */
function listenFault(cause: unknown, { setting, host, port }: WantedPort): unknown {
  const hostSetting = setting.replace(/PORT$/, "HOST");
  const fault = (message: string) => new SettingError(message, { cause });
  switch ((cause as { code?: string }).code) {
    case "EADDRINUSE":
      return fault(
        `Port ${port} on ${host} is taken by another process: set ${setting} to a free one`,
      );
    case "EACCES":
      return fault(`Port ${port} may not be opened by this user: set ${setting} to another`);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return fault(`${hostSetting}=${host} is no address of this machine`);
    default:
      return cause;
  }
}
