/**
 * Shows a long wait. A terminal gets one line that counts the seconds. Any other output (a file,
 * CI) gets one line before the wait and one after it. Code generation uses it too, so it imports
 * nothing.
 */

/** The target of the lines, such as `process.stdout`. */
interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A wait on display. */
interface Wait {
  /** Leaves a line with the seconds that it took. */
  end(): void;
  /** Removes the line of a failed wait. The caller reports the error. */
  drop(): void;
}

/** Lines of output, one of which may count seconds. */
export interface Counting {
  log(line: string): void;
  /** Shows `what` at once. Only one wait at a time. */
  begin(what: string): Wait;
}

/** Moves to the start of the line and clears it. */
const clear = "\r\u001B[K";

const secondMs = 1_000;

/** Creates the display on `output`. The lines count seconds if it is a terminal. */
export function countingOn(output: Output): Counting {
  let counted = "";
  const show = (line: string): void => {
    counted = line;
    output.write(`${clear}${line}`);
  };
  return {
    log: (line) => {
      if (counted === "") output.write(`${line}\n`);
      else output.write(`${clear}${line}\n${counted}`);
    },
    begin(what) {
      const began = performance.now();
      if (output.isTTY !== true) {
        output.write(`${what} …\n`);
        const end = (): void => void output.write(`${tookLine(what, began)}\n`);
        return { end, drop: () => undefined };
      }
      show(`${what} …`);
      const timer = setInterval(
        () => show(`${what} … ${Math.round((performance.now() - began) / secondMs)} s`),
        secondMs,
      );
      const leave = (text: string): void => {
        clearInterval(timer);
        counted = "";
        output.write(`${clear}${text}`);
      };
      return { end: () => leave(`${tookLine(what, began)}\n`), drop: () => leave("") };
    },
  };
}

/** Creates the display on a log of whole lines. */
export function linesInto(log: (line: string) => void): Counting {
  return countingOn({ write: (text) => log(text.trimEnd()) });
}

function tookLine(what: string, began: number): string {
  return `${what} (${((performance.now() - began) / secondMs).toFixed(1)} s)`;
}
