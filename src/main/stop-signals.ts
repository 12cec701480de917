/**
 * The signals that stop a process. A program imports this before anything else and loads the rest
 * afterwards: Node loads all static imports before it runs a line, and a signal without a handler
 * ends the process as if it had failed.
 */

/** While a process still loads or starts, nothing is to be drained. */
let onStop = (): void => process.exit(0);

/** Ends the process with 0 on SIGINT and SIGTERM, until `onStopSignal` is called. */
export function exitOnStopSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => onStop());
}

/** Calls `stop` instead from now on, for each of these signals. */
export function onStopSignal(stop: () => void): void {
  onStop = stop;
}
