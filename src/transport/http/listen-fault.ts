/** Why a port could not be opened, in the words of its settings. */
import { SettingError } from "../../config.ts";

/** Returns an error that names the setting of the port or of its host, if one is the cause. */
export function listenFault(cause: unknown, host: string, port: number, setting: string): unknown {
  const hostSetting = setting.replace(/PORT$/, "HOST");
  switch ((cause as { code?: string }).code) {
    case "EADDRINUSE":
      return new SettingError(
        `Port ${port} on ${host} is taken by another process: set ${setting} to a free one`,
        {
          cause,
        },
      );
    case "EACCES":
      return new SettingError(
        `Port ${port} may not be opened by this user: set ${setting} to another`,
        { cause },
      );
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new SettingError(`${hostSetting}=${host} is no address of this machine`, { cause });
    default:
      return cause;
  }
}
