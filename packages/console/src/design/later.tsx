/** Parts of a page that are loaded when they are first shown. */
import { type ComponentType, type ReactNode, useEffect, useState } from "react";

/**
 * Returns a component whose code is loaded by `load`, and what loads it sooner. It is loaded by an
 * effect, because React shows what suspended 0.3 s later at the earliest.
 */
export function later<P extends object>(
  load: () => Promise<ComponentType<P>>,
  meanwhile: ReactNode = null,
) {
  let loaded: ComponentType<P> | undefined;
  const read = async () => {
    loaded ??= await load();
    return loaded;
  };
  function Later(props: P) {
    const [Part, setPart] = useState(() => loaded);
    useEffect(() => {
      read().then(
        (part) => setPart(() => part),
        (error: unknown) =>
          setPart(() => {
            throw error;
          }),
      );
    }, []);
    return Part === undefined ? meanwhile : <Part {...props} />;
  }
  return Object.assign(Later, { load: read });
}
