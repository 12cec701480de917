/** Ports for servers that tests start. */
import { createServer } from "node:net";

/** A port of 127.0.0.1 that nothing listens on now. Prefer listening on port 0 where the server can say which it got. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ port: 0, host: "127.0.0.1" }, () => {
      const address = server.address();
      server.close(() => {
        if (address !== null && typeof address === "object") resolve(address.port);
        else reject(new Error("the probe listens on no port"));
      });
    });
  });
}
