/**
 * Program: lets the Temporal SDK download its own dev server into the folder given as argument, by its own address and check, and ends.
 * A process of its own, because a download that hangs inside the SDK can only be ended from outside.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Runtime } from "@temporalio/worker";

const [downloadDir] = process.argv.slice(2);
if (downloadDir === undefined) throw new Error("usage: download-temporal-cli FOLDER");
const packageFile = createRequire(import.meta.url).resolve("@temporalio/worker/package.json");
const { version } = JSON.parse(readFileSync(packageFile, "utf8")) as { version: string };

// The SDK downloads only on the way to starting a server: one is started in memory and stopped again.
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
