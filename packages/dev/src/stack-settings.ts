/**
 * The parts of a running stack. Each is started with a line about its duration, watched, and ended
 * in reverse order.
 */

/**
 * A running part. `exited` resolves when it ends, with the manner of its end if known. `stop`
 * returns once it has ended.
 */
interface Part {
  readonly exited: Promise<string | undefined>;
  stop(): Promise<void>;
  /** Returns its last output, for the error if it ends unexpectedly. */
  lastWords?(): Promise<string>;
}

/** The collection of parts. After `stopAll` no part can be started. */
export interface Parts {
  /**
   * Starts a part. `where` returns the text about it in the log line. Throws the error of `create`,
   * or an Error if all parts are being stopped.
   */
  start<T extends Part>(
    name: string,
    create: () => Promise<T>,
    where: (part: T) => string,
  ): Promise<T>;
  /**
   * Ends every part, also one that is still starting, newest first. Every caller gets the same
   * promise.
   */
  stopAll(): Promise<void>;
  /** Resolves with a description when a part ends unexpectedly. */
  readonly broken: Promise<string>;
}

/** Creates an empty collection. `log` gets a line for each part that is started or stopped. */
export function collectParts(log: (line: string) => void): Parts {
  const starting: { readonly name: string; readonly part: Promise<Part> }[] = [];
  const broken = Promise.withResolvers<string>();
  let stopping: Promise<void> | undefined;

  const watch = async (name: string, part: Part): Promise<void> => {
    const how = await part.exited;
    if (stopping !== undefined) return;
    const words = await part.lastWords?.();
    broken.resolve(
      `${name} ended by itself${how === undefined ? "" : ` (${how})`}` +
        `${words ? `. Its last words:\n${words}` : ""}`,
    );
  };
  const stopEach = async (): Promise<void> => {
    for (const { name, part } of starting.reverse()) {
      // A part that failed to start has already reported the reason, and has nothing to stop.
      const started = await part.catch(() => undefined);
      if (started === undefined) continue;
      await started.stop();
      log(`${name} stopped`);
    }
  };
  return {
    async start(name, create, where) {
      if (stopping !== undefined) throw new Error("everything is being stopped");
      const began = performance.now();
      const creating = create();
      starting.push({ name, part: creating });
      const part = await creating;
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
