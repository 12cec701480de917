/** Ports for servers that tests start. */
import { createServer } from "node:net";

/**
 * Below the ports that a machine assigns to connections, and to servers that ask for any port: no
 * other process gets one of these between the check and its use, nor while a server that holds it
 * is down.
 */
const firstPort = 10_000;

/** Each process of a run has separate ports, and concurrent runs begin elsewhere. */
const [processes, ownPorts] = [5, 4_000];
const ownFirst = firstPort + (Number(process.env.VITEST_POOL_ID ?? 0) % processes) * ownPorts;
let taken = Math.floor(Math.random() * ownPorts);

/**
 * A port of 127.0.0.1 on which nothing listens now. Prefer port 0 if the server can report which
 * port it got.
 */
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
