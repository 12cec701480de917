/** The command line, `npm run billing -- <noun> <verb>`: one call of it as a process. */
import { runProgram } from "./program.ts";
import { processTerminal } from "./terminal.ts";

// A reader that has seen enough (`| head`) closes the pipe: that is no fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await runProgram(processTerminal(), process.argv.slice(2));
