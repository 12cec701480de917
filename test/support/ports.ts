/** Ports for servers that tests start. */
import { createServer } from "node:net";

/**
 * Below those that a machine gives to connections, and to servers that ask for any port: nobody is given one of these between the look
 * whether it is free and its use, nor while a server that keeps it is down.
 */
const firstPort = 10_000;

/** Each process of a run has its own of them, and runs beside each other begin somewhere else. */
const [processes, ownPorts] = [5, 4_000];
const ownFirst = firstPort + (Number(process.env.VITEST_POOL_ID ?? 0) % processes) * ownPorts;
let taken = Math.floor(Math.random() * ownPorts);

/** A port of 127.0.0.1 that nothing listens on now. Prefer listening on port 0 where the server can say which it got. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < ownPorts; tried += 1) {
    taken = (taken + 1) % ownPorts;
    const port = ownFirst + taken;
    if (await isFree(port)) return port;
  }
  throw new Error(`no port from ${ownFirst} on is free`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve(true)));
  });
}
