/**
 * A line to a TCP server that tests can cut and mend, for processes that must do without it for a
 * while.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import { freePort } from "../support/ports.ts";

/** A line to a server. */
export interface CutLine {
  /** The server's address by way of this line. */
  readonly url: string;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Takes connections again, on the same port. */
  mend(): Promise<void>;
  /**
   * Cuts the next connection on which this text is sent once the server has answered it: the answer
   * is lost. Resolves when that has happened.
   */
  loseAnswer(text: string): Promise<void>;
}

/**
 * Opens a line to the server of a URL that names its host and port. `cut` closes it for good at the
 * end of a test.
 */
export async function openLine(serverUrl: string): Promise<CutLine> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const port = await freePort();
  let server: Server | null = null;
  let lost: { readonly text: string; readonly onLost: () => void } | null = null;
  const mend = async (): Promise<void> => {
    const own = createServer((near) => {
      const far = connect({ host: target.hostname, port: Number(target.port) });
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(socket);
        socket.on("error", () => undefined);
        socket.once("close", () => {
          sockets.delete(socket);
          other.destroy();
        });
        socket.pipe(other);
      }
      near.on("data", (sent: Buffer) => {
        if (lost === null || !sent.includes(lost.text)) return;
        const { onLost } = lost;
        lost = null;
        far.unpipe(near);
        far.once("data", () => {
          near.destroy();
          onLost();
        });
        far.resume();
      });
    });
    await new Promise<void>((resolve) => own.listen(port, "127.0.0.1", resolve));
    server = own;
  };
  const cut = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) =>
      server === null ? resolve() : server.close(() => resolve()),
    );
    for (const socket of sockets) socket.destroy();
    await closed;
    server = null;
  };
  await mend();
  const url = new URL(serverUrl);
  url.hostname = "127.0.0.1";
  url.port = String(port);
  const loseAnswer = (text: string) =>
    new Promise<void>((onLost) => {
      lost = { text, onLost };
    });
  return { url: url.href, cut, mend, loseAnswer };
}
