/** The reads of which the service answers few at once (ADMIN-14): the page lets the others wait. */
import type { Interceptor } from "@connectrpc/connect";
import { dearReads, maxDearReads } from "../../../../src/admin/dear-reads.ts";

let inProgress = 0;
const waiting: (() => void)[] = [];

async function enter(): Promise<void> {
  if (inProgress >= maxDearReads) await new Promise<void>((go) => waiting.push(go));
  inProgress += 1;
}

function leave(): void {
  inProgress -= 1;
  waiting.shift()?.();
}

/** Sends the others one after the other once as many are in progress. */
export const queueDearReads: Interceptor = (next) => async (request) => {
  const { parent, name } = request.method;
  if (!dearReads.has(`${parent.typeName}/${name}`)) return next(request);
  await enter();
  try {
    return await next(request);
  } finally {
    leave();
  }
};
