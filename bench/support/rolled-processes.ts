/**
 * APIs and workers that a measurement restarts, each as an orchestrator does: SIGTERM, the end of
 * its work, a successor with other ports, and its /readyz before the next one.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Child, startChild } from "../../packages/dev/src/processes/children.ts";
import { freePort } from "../../test/support/ports.ts";
import type { ReadyProxy } from "./ready-proxy.ts";

/** What is stopped at the end, in reverse order. */
export type Stops = (() => Promise<unknown>)[];

/** Where the processes run: their settings, and the folder of their logs. */
export interface Place {
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
  readonly stops: Stops;
}

/** A process that is restarted: stops it and starts the next one, ready. */
export interface Restarted {
  restart(): Promise<void>;
}

const startLimitMs = 60_000;

/** Between SIGTERM and SIGKILL, as the chart has it. */
const graceMs = 60_000;

const programs = {
  api: fileURLToPath(new URL("../../src/server.ts", import.meta.url)),
  worker: fileURLToPath(new URL("../../src/worker.ts", import.meta.url)),
};

/** Starts an API, and each next one on new ports, as a container's successor has a new address. */
export function startRolledApi(name: string, place: Place, proxy: ReadyProxy): Promise<Restarted> {
  let target: string | null = null;
  return startRolled(name, place, async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    return {
      script: programs.api,
      ports: { API_PORT: String(port), ADMIN_PORT: String(await freePort()) },
      isReady: async () => {
        if (target !== url) proxy.replace(target, url);
        target = url;
        return proxy.isReady(url);
      },
    };
  });
}

/** Starts a worker with its health port. */
export function startRolledWorker(name: string, place: Place): Promise<Restarted> {
  return startRolled(name, place, async () => {
    const port = await freePort();
    return {
      script: programs.worker,
      ports: { WORKER_PORT: String(port) },
      isReady: async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
        await answer?.arrayBuffer();
        return answer?.status === 200;
      },
    };
  });
}

/** A process that is about to start. */
interface Next {
  readonly script: string;
  readonly ports: NodeJS.ProcessEnv;
  readonly isReady: () => Promise<boolean>;
}

async function startRolled(
  name: string,
  { env, folder, stops }: Place,
  next: () => Promise<Next>,
): Promise<Restarted> {
  let current: Child | null = null;
  const start = async () => {
    const { script, ports, isReady } = await next();
    const child = await startChild({
      name,
      script,
      env: { ...env, ...ports },
      logFile: join(folder, `${name}.log`),
      drainMs: graceMs,
    });
    current = child;
    let ended: string | null = null;
    void child.exited.then((how) => {
      ended = how;
    });
    const endMs = performance.now() + startLimitMs;
    while (!(await isReady())) {
      const isLate = performance.now() > endMs;
      assert(!isLate && ended === null, `${name} is ready (${ended}): ${await child.lastWords()}`);
      await wait(50);
    }
  };
  stops.push(async () => current?.stop());
  await start();
  return {
    restart: async () => {
      await current?.stop();
      await start();
    },
  };
}
