/** The parts of a running whole: started with a line of how long it took, watched, and ended in the reverse order of their start. */

/** A part that runs. `exited` resolves when it ends, with how if it can say; `stop` returns once it has. */
export interface Part {
  readonly exited: Promise<string | undefined>;
  stop(): Promise<void>;
  /** What it wrote last, for the error when it ends by itself. */
  lastWords?(): Promise<string>;
}

/** The collection. Once `stopAll` has been called nothing more can be started. */
export interface Parts {
  /** Starts a part; `where` says in the line what there is to know of it. Throws what `make` throws, or an Error when all is being stopped. */
  start<T extends Part>(name: string, make: () => Promise<T>, where: (part: T) => string): Promise<T>;
  /** Ends every part, also one that is just starting, the newest first; the same promise for every caller. */
  stopAll(): Promise<void>;
  /** Resolves with an account of it when a part ends without having been asked to. */
  readonly broken: Promise<string>;
}

/** An empty collection; `log` gets a line for each part that is started or stopped. */
export function collectParts(log: (line: string) => void): Parts {
  const starting: { readonly name: string; readonly part: Promise<Part> }[] = [];
  const broken = Promise.withResolvers<string>();
  let stopping: Promise<void> | undefined;

  const watch = async (name: string, part: Part): Promise<void> => {
    const how = await part.exited;
    if (stopping !== undefined) return;
    const words = await part.lastWords?.();
    broken.resolve(
      `${name} ended by itself${how === undefined ? "" : ` (${how})`}${words ? `. Its last words:\n${words}` : ""}`,
    );
  };
  const stopEach = async (): Promise<void> => {
    for (const { name, part } of starting.reverse()) {
      // One that failed to start has already told why, and has nothing to stop.
      const started = await part.catch(() => undefined);
      if (started === undefined) continue;
      await started.stop();
      log(`${name} stopped`);
    }
  };
  return {
    async start(name, make, where) {
      if (stopping !== undefined) throw new Error("everything is being stopped");
      const began = performance.now();
      const making = make();
      starting.push({ name, part: making });
      const part = await making;
      void watch(name, part);
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      log(`${name.padEnd(12)} ${where(part)} (${seconds} s)`);
      return part;
    },
    stopAll() {
      stopping ??= stopEach();
      return stopping;
    },
    broken: broken.promise,
  };
}
