/**
 * One organisation at full rate next to another at a small fixed rate: the durations of the other's
 * requests alone and next to it, for each kind of request.
 *
 * Aim: the other's p99 is at most 1.5 times as long as alone. The floor is the operating system's
 * part: the other's requests next to processes that only compute.
 */
import { printFigure } from "./support/figure.ts";
import { keepProcessorsBusy } from "./support/load/busy-processors.ts";
import { createTenant, kindsNamed } from "./support/load/grown-tenant.ts";
import { startPacedLoad } from "./support/load/paced-load.ts";
import { sendRequests, warmUpMs } from "./support/load/sustained.ts";
import { startMeasuredSystem } from "./support/system.ts";

/** `npm run bench -- neighbours 5 list units` measures fewer seconds, and these kinds alone. */
const durationMs = 1_000 * Number(process.argv[3] ?? 20);

const wantedKinds = process.argv.slice(4);

/** Requests a second of the other: a small part of what is sustained. */
const otherPerSecond = { list: 20, create: 8, units: 4, usage_single: 20, usage_batch100: 8 };

/** The busy one starts first, and ends last. */
const marginMs = 1_000;

const subscriptions = 2_000;

/** The busy organisation must never reach the limit of its keys, 120 requests a minute each. */
const keyCount = 2_400;

/** Prints the durations. The ratios are to the duration alone. */
export async function run(): Promise<void> {
  const kinds = kindsNamed(wantedKinds);
  const system = await startMeasuredSystem();
  const [busyLoad, otherLoad] = [startPacedLoad(), startPacedLoad()];
  try {
    const tenants = [
      await createTenant(system, "Busy", keyCount),
      await createTenant(system, "Other", keyCount),
    ] as const;
    for (const tenant of tenants) await tenant.growTo(subscriptions);
    const [busy, other] = await Promise.all(
      tenants.map(async (tenant, place) => ({
        system,
        tenant,
        load: place === 0 ? busyLoad : otherLoad,
        requests: await tenant.requests(500),
      })),
    );
    if (busy === undefined || other === undefined) return;
    for (const kind of kinds) {
      await sendRequests(busy, kind, { durationMs: warmUpMs, perSecond: null });
      const pace = { durationMs, perSecond: otherPerSecond[kind] };
      const alone = await sendRequests(other, kind, pace);
      const rest = keepProcessorsBusy();
      const computing = await sendRequests(other, kind, pace).finally(rest);
      const full = sendRequests(busy, kind, {
        durationMs: durationMs + 2 * marginMs,
        perSecond: null,
      });
      await Promise.race([full, new Promise((resolve) => setTimeout(resolve, marginMs))]);
      const both = await sendRequests(other, kind, pace);
      printFigure(`neighbours_${kind}_busy`, (await full).perSecond, "requests/s");
      printFigure(`neighbours_${kind}_computing_p50`, computing.p50Ms, "ms", alone.p50Ms);
      printFigure(`neighbours_${kind}_computing_p99`, computing.p99Ms, "ms", alone.p99Ms);
      printFigure(`neighbours_${kind}_p50`, both.p50Ms, "ms", alone.p50Ms);
      printFigure(`neighbours_${kind}_p99`, both.p99Ms, "ms", alone.p99Ms);
    }
  } finally {
    busyLoad.stop();
    otherLoad.stop();
    await system.stop();
  }
}
