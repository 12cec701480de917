/** A pool survives connections that PostgreSQL ends at the worst moment. */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isDatabaseUnreachable } from "../../../src/store/database/errors.ts";
import { createPool, inTransaction } from "../../../src/store/database/pool.ts";

/** A message of PostgreSQL's protocol: its kind, its length with itself, its body. */
function message(kind: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(kind, "latin1");
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const authenticated = message("R", Buffer.alloc(4));
const ready = message("Z", Buffer.from("I"));
const terminated = message(
  "E",
  Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"),
);

/**
 * Accepts every connection and ends it as an administrator does. A process that was busy meanwhile
 * reads all of these messages at once.
 */
let server: Server;
let connections = 0;

beforeAll(async () => {
  server = createServer((socket: Socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      connections += 1;
      socket.end(Buffer.concat([authenticated, ready, terminated]));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(() => new Promise((resolve) => server.close(resolve)));

test("a connection that ends when it opens fails its transaction, not the process", async () => {
  const { port } = server.address() as AddressInfo;
  const databaseUrl = `postgres://nobody@127.0.0.1:${port}/none?sslmode=disable`;
  const pool = createPool({ databaseUrl, size: 2, name: "test" }, () => undefined);
  const attempts = Array.from({ length: 20 }, () =>
    inTransaction(pool, async () => "done").then(
      () => "done",
      (error: unknown) => (isDatabaseUnreachable(error) ? "unreachable" : String(error)),
    ),
  );
  expect(new Set(await Promise.all(attempts))).toEqual(new Set(["unreachable"]));
  expect(connections).toBeGreaterThan(1);
  await pool.end();
});
