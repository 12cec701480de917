/** The connection to Temporal, over a server of HTTP/2 that answers as the test decides. */
import { createServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { connectTemporal } from "../../../src/worker/temporal/connect.ts";

/** Refuses `GetClusterInfo` as unavailable, and answers anything else with an empty message. */
function startServer(): Promise<Http2Server> {
  const server = createServer();
  server.on("stream", (stream, headers) => {
    const answer = { ":status": 200, "content-type": "application/grpc" };
    if (String(headers[":path"]).endsWith("/GetClusterInfo")) {
      stream.respond({ ...answer, "grpc-status": "14" }, { endStream: true });
      return;
    }
    stream.respond(answer, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.alloc(5));
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

test("a connection closes after a call that waits for its retry, which then fails", async () => {
  const server = await startServer();
  try {
    const { port } = server.address() as AddressInfo;
    const temporal = connectTemporal({
      connectionOptions: { address: `127.0.0.1:${port}` },
      namespace: "default",
      payloadKey: null,
      payloadKeysBefore: [],
      deployment: null,
    });
    const { workflowService } = temporal.connection;
    const refused = workflowService.getClusterInfo({}).then(
      () => "answered",
      () => "refused",
    );
    // One connection answers in order, so the first call has been refused after this.
    await workflowService.getSystemInfo({});
    await temporal.close();
    expect(await refused).toBe("refused");
  } finally {
    server.close();
  }
});
