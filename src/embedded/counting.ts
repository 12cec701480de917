/**
 * What is told of a long wait: on a terminal one line that counts its seconds, elsewhere (a file, CI) a line before and one after it.
 * Code generation uses it too, so that it imports nothing.
 */

/** Where lines go; `process.stdout` is one. */
interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A wait that is shown. */
export interface Wait {
  /** Leaves a line with the seconds that it took. */
  end(): void;
  /** Leaves nothing, for a wait that came to nothing: whoever waited says why. */
  drop(): void;
}

/** Lines, of which one may count. */
export interface Counting {
  log(line: string): void;
  /** Shows `what` before it is waited for. One wait at a time. */
  begin(what: string): Wait;
}

/** Back to the beginning of the line, and away with what stands there. */
const clear = "\r\u001B[K";

const secondMs = 1_000;

/** Lines on `output`, which count where it is a terminal. */
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
        return { end: () => void output.write(`${tookLine(what, began)}\n`), drop: () => undefined };
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

/** The same for a log of lines, which nobody watches as it grows. */
export function linesInto(log: (line: string) => void): Counting {
  return countingOn({ write: (text) => log(text.trimEnd()) });
}

function tookLine(what: string, began: number): string {
  return `${what} (${((performance.now() - began) / secondMs).toFixed(1)} s)`;
}
