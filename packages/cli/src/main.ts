/** The process of the command line: `npm run billing -- <noun> <verb>`. */
import { runProgram } from "./program.ts";
import { processTerminal } from "./terminal.ts";

// A reader such as `| head` may close the pipe early. That is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await runProgram(processTerminal(), process.argv.slice(2));
