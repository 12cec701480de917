/**
 * A process whose collector of traces is away or silent works all the same, and a signal ends it
 * with 0: nothing optional ends a process or holds it.
 */

import type { Socket } from "node:net";
import { createServer } from "node:net";
import { expect } from "vitest";
import { startApiProcess } from "../../faults/processes.ts";
import { ask } from "../../support/answer.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import { systemTest } from "../../support/fixtures.ts";
import { freePort } from "../../support/ports.ts";
import { programPath } from "../../support/process.ts";
import type { SystemSettings } from "../../support/system.ts";

const test = systemTest
  .extend(
    "settings",
    perFile,
    started((): SystemSettings => ({ without: ["api", "worker"] })),
  )
  /** The port of a server that takes connections and never answers. */
  .extend("silentPort", perFile, async ({ settings: _ }, { onCleanup }) => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on("error", () => undefined));
    });
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    onCleanup(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return port;
  });

test.for([
  ["server.ts", "away"],
  ["server.ts", "silent"],
  ["worker.ts", "away"],
  ["worker.ts", "silent"],
] as const)("%s ends with 0 while the collector of its spans is %s", async ([script, how], {
  system,
  silentPort,
}) => {
  const { apiKey } = await system.organisation();
  const port = how === "silent" ? silentPort : await freePort();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, WORKER_PORT: "0" };
  const running = await startApiProcess(system, env, programPath(script));
  if (script === "server.ts") {
    const answer = await ask(`${running.baseUrl}/v1/organisation`, "GET", { key: apiKey });
    expect(answer.status).toBe(200);
  }
  await running.stop();
  expect(await running.exited).toBe("0");
});

test("a process whose log cannot be written goes on", async ({ system }) => {
  const { apiKey } = await system.organisation();
  const running = await startApiProcess(system);
  running.closeOutput();
  for (let calls = 0; calls < 3; calls += 1)
    expect((await ask(`${running.baseUrl}/v1/organisation`, "GET", { key: apiKey })).status).toBe(
      200,
    );
  await running.stop();
  expect(await running.exited).toBe("0");
});
