/**
 * Checks and picks local ports before anything is started. An error names the setting that chooses
 * another port.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

/** Everything embedded listens only here, because it has default passwords or none. */
export const localHost = "127.0.0.1";

/**
 * The default ports. Each is near the part's usual port, but not the same, because that one is
 * often in use on a developer's machine.
 */
export const defaultPorts = {
  api: 8080,
  admin: 8081,
  postgres: 54_329,
  temporal: 7_239,
  temporalUi: 8_239,
  demoLedger: 8_090,
  tryton: 8_091,
  worker: 8_082,
} as const;

/** A port that a part needs. `setting` is the environment variable that chooses another. */
export interface WantedPort {
  readonly part: string;
  readonly port: number;
  readonly setting: string;
  /** The address to listen on. The default is this machine only. */
  readonly host?: string;
}

/**
 * Reads a port from the environment. Throws an Error that names the setting if it is not 1 to
 * 65535.
 */
export function readPort(env: NodeJS.ProcessEnv, setting: string, fallback: number): number {
  const text = env[setting];
  if (text === undefined || text === "") return fallback;
  const port = Number(text);
  if (!/^[1-9]\d{0,4}$/.test(text) || port > 65_535)
    throw new Error(`${setting}=${text} is no port: give a number from 1 to 65535.`);
  return port;
}

/**
 * Returns the error for a port that another program holds. It names the setting that chooses
 * another.
 */
function takenPort({ part, port, setting }: WantedPort): Error {
  return new Error(`The port ${port}, wanted for ${part}, is taken. Set ${setting} to a free one.`);
}

/**
 * Throws `takenPort` for the first of these ports that is taken, or an Error if two parts need the
 * same one.
 */
export async function assertPortsFree(wanted: readonly WantedPort[]): Promise<void> {
  for (const [index, one] of wanted.entries()) {
    const other = wanted.slice(0, index).find(({ port }) => port === one.port);
    if (other === undefined) continue;
    throw new Error(
      `${other.part} and ${one.part} both want port ${one.port}. ` +
        `Change ${other.setting} or ${one.setting}.`,
    );
  }
  for (const one of wanted) if (!(await isPortFree(one.port, one.host))) throw takenPort(one);
}

/** Returns true if this process could listen on the port now. */
function isPortFree(port: number, host: string = localHost): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE" || error.code === "EACCES") resolve(false);
      else reject(error);
    });
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/**
 * Returns true if a program accepts connections on the port now. Unlike `isPortFree` it never holds
 * the port.
 */
export function isListening(port: number, host: string = localHost): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}

/**
 * Returns a port of this machine on which nothing listens. For a minute the system assigns it to no
 * program that asks for any port, because a connection to it was just closed from its side. A
 * server may still listen on it. The Temporal dev server picks its inner ports itself, and must not
 * get this one.
 */
export async function anyFreePort(): Promise<number> {
  const server = createServer((socket) => socket.end());
  await once(server.listen(0, localHost), "listening");
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: localHost });
  await once(socket.resume(), "close");
  await new Promise((done) => server.close(done));
  return port;
}
