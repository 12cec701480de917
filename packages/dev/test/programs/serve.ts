/**
 * Stands for a program of the stack: answers on the port that the environment names, writes its
 * life into a file, drains on SIGTERM.
 */
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename } from "node:path";

const name = basename(process.argv[1] ?? "", ".ts");
const story = (word: string): void =>
  appendFileSync(process.env.STORY_FILE ?? "", `${name} ${word}\n`);
const server = createServer((_request, response) => response.end("ready"));
process.on("SIGTERM", () => {
  story("drained");
  process.exit(0);
});

/** Listens on the port and records the start, and whether it got the address and malloc's bound. */
export function serve(port: string | undefined): void {
  const { TEMPORAL_ADDRESS, MALLOC_ARENA_MAX } = process.env;
  const isPassedOn = TEMPORAL_ADDRESS !== undefined && MALLOC_ARENA_MAX === "2";
  server.listen(Number(port), "127.0.0.1", () => story(`started ${isPassedOn}`));
}
