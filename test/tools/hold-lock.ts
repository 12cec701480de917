/** Holds the lock of its argument until it is told to end. */
import { once } from "node:events";
import { withLock } from "../../tools/gen-lock.ts";

const [, , lock = ""] = process.argv;
await withLock(
  lock,
  () => undefined,
  async () => {
    process.send?.("held");
    await once(process, "message");
  },
);
process.disconnect();
