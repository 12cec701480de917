/**
 * A container engine for a test: the machine's, or one that the test starts, with its data in a
 * folder of the test and with no network but the machine's own.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { until } from "../support/until.ts";

const root = join(import.meta.dirname, "../..");

/** Building an image installs all packages: four minutes on two quiet cores. */
const limitMs = 900_000;

/** The engine, or why there is none. */
export interface ContainerEngine {
  /** Runs `docker` to its end. Throws with its output if it fails. */
  docker(...args: readonly string[]): string;
  stop(): Promise<void>;
}

/**
 * Returns an engine that has or can pull the base images of deploy/Dockerfile, or the reason why
 * the machine has none.
 */
export async function startEngine(folder: string): Promise<ContainerEngine | string> {
  if (spawnSync("docker", ["--version"]).error) return "docker is not installed";
  const started = await startDaemon(folder);
  if (typeof started === "string") return started;
  const env = { ...process.env, ...started.env, DOCKER_BUILDKIT: "0" };
  const engine: ContainerEngine = {
    docker(...args) {
      const ended = spawnSync("docker", args, {
        ...{ cwd: root, env, encoding: "utf8", timeout: limitMs },
        maxBuffer: 64 * 1024 * 1024,
      });
      if (ended.status === 0) return ended.stdout;
      throw new Error(`docker ${args.join(" ")}: ${ended.stdout}${ended.stderr}`);
    },
    stop: started.stop,
  };
  const problem = baseProblem(engine, env);
  if (problem === null) return engine;
  await engine.stop();
  return problem;
}

interface Daemon {
  readonly env: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

async function startDaemon(folder: string): Promise<Daemon | string> {
  if (spawnSync("docker", ["version"]).status === 0)
    return { env: {}, stop: async () => undefined };
  if (process.getuid?.() !== 0) return "no container engine runs, and only root can start one";
  const host = `unix://${join(folder, "docker.sock")}`;
  const daemon: ChildProcess = spawn(
    "dockerd",
    [
      ...["--data-root", join(folder, "data"), "--exec-root", join(folder, "exec")],
      ...["--pidfile", join(folder, "pid"), "-H", host],
      ...["--bridge=none", "--iptables=false", "--ip-masq=false"],
    ],
    { stdio: "ignore" },
  );
  let problem: string | null = null;
  daemon.once("error", ({ message }) => (problem = message));
  daemon.once("exit", (code) => (problem = `dockerd ended with ${code}`));
  const env = { DOCKER_HOST: host };
  const answers = () =>
    spawnSync("docker", ["version"], { env: { ...process.env, ...env } }).status === 0;
  await until("the engine answers", async () => problem !== null || answers());
  if (problem !== null) return `no container engine can be started: ${problem}`;
  return {
    env,
    stop: async () => {
      daemon.kill();
      await until("the engine has ended", async () => problem !== null);
      // It leaves the network of its containers mounted.
      spawnSync("umount", [join(folder, "exec/netns/default")]);
    },
  };
}

/** Makes or pulls the base images if the engine has none. Returns why it could not. */
function baseProblem({ docker }: ContainerEngine, env: NodeJS.ProcessEnv): string | null {
  const version = /^ARG NODE=(.+)$/m.exec(
    readFileSync(join(root, "deploy/Dockerfile"), "utf8"),
  )?.[1];
  const names = [`node:${version}-bookworm`, `node:${version}-bookworm-slim`];
  try {
    for (const name of names) docker("image", "inspect", name);
    return null;
  } catch {
    // The engine has none yet.
  }
  const node = join(root, "node_modules", `node-linux-${process.arch}`);
  const canMake = existsSync(node) && !spawnSync("debootstrap", ["--version"]).error;
  if (process.getuid?.() === 0 && canMake) {
    const work = join(homedir(), ".cache/subscription-billing", `container-base-${version}`);
    const script = join(import.meta.dirname, "container-base.sh");
    const made = spawnSync(script, [node, version ?? "", work], { env, encoding: "utf8" });
    return made.status === 0 ? null : `the base image cannot be made: ${made.stderr}`;
  }
  try {
    for (const name of names) docker("pull", "--quiet", name);
    return null;
  } catch (error) {
    return `the base images can be neither pulled nor made (debootstrap): ${error}`;
  }
}
