/** Connections that are opened, answered once and held without a further request. */
import { connect, type Socket } from "node:net";

/** The held connections. */
export interface HeldConnections {
  /** How many got an answer to their one request. */
  readonly answered: number;
  /** How many are open now. */
  open(): number;
  stop(): void;
}

/** Below the limit of connections of one address. */
const perAddress = 900;

/** Opened at once. */
const batch = 100;

const request = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

/** Holds so many connections, from as many loopback addresses as their limit needs. */
export async function holdConnections(port: number, count: number): Promise<HeldConnections> {
  const sockets: Socket[] = [];
  let answered = 0;
  for (let first = 0; first < count; first += batch) {
    const places = Array.from({ length: Math.min(batch, count - first) }, (_, at) => first + at);
    const opened = await Promise.all(places.map((place) => hold(port, place)));
    for (const socket of opened) if (socket !== null) sockets.push(socket);
    answered += opened.filter((socket) => socket !== null).length;
  }
  return {
    answered,
    open: () => sockets.filter(({ readyState }) => readyState === "open").length,
    stop: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function hold(port: number, place: number): Promise<Socket | null> {
  const localAddress = `127.0.0.${2 + Math.floor(place / perAddress)}`;
  const { promise, resolve } = Promise.withResolvers<Socket | null>();
  const socket = connect({ host: "127.0.0.1", port, localAddress });
  socket.once("connect", () => socket.write(request));
  socket.once("data", (answer) => resolve(/^HTTP\/1\.1 200 /.test(String(answer)) ? socket : null));
  socket.once("error", () => resolve(null));
  socket.once("close", () => resolve(null));
  return promise;
}
