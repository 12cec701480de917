/** A linear scale with round ends, and its marks. */
import { nice, ticks } from "d3-array";
import { grouped } from "../design/values/money.tsx";

/** Places on an axis. */
export interface Scale {
  (value: number): number;
  readonly marks: readonly number[];
}

const compact = new Intl.NumberFormat("en-GB", { notation: "compact" });

/** Returns the text of a mark: `250,000` or `2.5M`, so that it fits beside the axis. */
export function markText(mark: number): string {
  return mark < 1_000_000 ? grouped(mark) : compact.format(mark);
}

/** Maps 0 to `most`, or to the round number above it, to pixels. `count` marks at about. */
export function linearScale(
  most: number,
  [from, to]: readonly [number, number],
  count: number,
  isRound: boolean,
): Scale {
  const [, end] = isRound ? nice(0, most, count) : [0, most];
  const place = (value: number) => from + (value * (to - from)) / (end || 1);
  return Object.assign(place, { marks: ticks(0, end, count) });
}
