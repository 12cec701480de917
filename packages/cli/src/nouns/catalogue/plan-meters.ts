/**
 * Meters of a plan on the command line. Meters with one price are options. Meters with tiers come
 * from a file.
 */
import { UsageError } from "../../failures.ts";
import type { ExtraOption, Verb } from "../../noun.ts";
import type { Json } from "../../output/message-json.ts";

/** The option of a meter with one price. */
export const meterOption: ExtraOption = {
  flags: "--meter <meter=price...>",
  description: "a meter's id or code and its unit price, such as api-calls=0.002; may be repeated",
};

/** A request that creates a plan, with the meters of the options. */
export const withNewMeters: NonNullable<Verb["withExtra"]> = (request, { meter }) =>
  meter === undefined ? request : { ...request, meters: metersOf(meter) };

/** A request that changes a plan. The meters of the options replace all existing ones. */
export const withOtherMeters: NonNullable<Verb["withExtra"]> = (request, { meter }) =>
  meter === undefined ? request : { ...request, meters: { meters: metersOf(meter) } };

function metersOf(options: unknown): Json[] {
  return (Array.isArray(options) ? options : []).map((each: unknown) => {
    const [, meter, price] = /^(.+)=([^=]+)$/.exec(String(each)) ?? [];
    if (meter === undefined || price === undefined) {
      throw new UsageError(
        `--meter takes a meter and its price, such as api-calls=0.002, not ${String(each)}`,
      );
    }
    return { meter, type: "per_unit", price };
  });
}
