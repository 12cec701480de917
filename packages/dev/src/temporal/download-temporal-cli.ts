/**
 * Program: makes the Temporal SDK download its dev server into the folder of the argument, from the
 * SDK's address and with its check. It is a separate process, because a hanging download inside the
 * SDK can only be ended from outside.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Runtime } from "@temporalio/worker";

const [downloadDir] = process.argv.slice(2);
if (downloadDir === undefined) throw new Error("usage: download-temporal-cli FOLDER");
const packageFile = createRequire(import.meta.url).resolve("@temporalio/worker/package.json");
const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };

// The SDK downloads only when it starts a server. So a server is started in memory and stopped
// again.
const server = await Runtime.instance().createEphemeralServer({
  type: "dev-server",
  exe: {
    type: "cached-download",
    downloadDir,
    version: "default",
    ttl: 0,
    sdkName: "sdk-typescript",
    sdkVersion: version,
  },
  namespace: "default",
  ip: "127.0.0.1",
  port: null,
  uiPort: null,
  dbFilename: null,
  ui: false,
  log: { format: "pretty", level: "error" },
  extraArgs: [],
});
await Runtime.instance().shutdownEphemeralServer(server);
