/**
 * Builds bodies of usage reports with placeholders for the events' ids, so that a sender only
 * writes ids. Each report is of one organisation. Its events are of different subscriptions and
 * both meters, with quantities as text and as numbers.
 */
import { idLength } from "./usage-ids.ts";
import { meterCodes } from "./usage-meters.ts";

/** The events of a report, without their ids. */
export interface Batch {
  /** The index of the report's organisation. */
  readonly organisation: number;
  readonly body: string;
  /** The offset of each event's id in the body. */
  readonly idsAt: readonly number[];
}

/** An event's details, as a report and a statement need them. */
export interface MeasuredEvent {
  readonly subscription: string;
  readonly meter: number;
  readonly quantity: string;
  readonly timestamp: string;
}

/**
 * An hour: far more than any clock difference, and in the current month except on its first day.
 */
const agoMs = 3_600_000;

/**
 * Events of these subscriptions in turn, starting at the index `from`, with timestamps about an
 * hour ago.
 */
export function measuredEvents(
  subscriptions: readonly string[],
  from: number,
  count: number,
): readonly MeasuredEvent[] {
  const nowMs = Date.now();
  return Array.from({ length: count }, (_, index) => ({
    subscription: subscriptions[(from + index) % subscriptions.length] ?? "",
    meter: index % meterCodes.length,
    quantity: `${1 + (index % 40)}.${25 * (index % 4)}`,
    timestamp: new Date(nowMs - agoMs - 977 * index).toISOString(),
  }));
}

/** The report of these events. */
export function batchOf(organisation: number, events: readonly MeasuredEvent[]): Batch {
  let body = `{"events":[`;
  const idsAt: number[] = [];
  for (const [index, { subscription, meter, quantity, timestamp }] of events.entries()) {
    body += `${index === 0 ? "" : ","}{"event_id":"`;
    idsAt.push(body.length);
    const amount = index % 2 === 0 ? quantity : `"${quantity}"`;
    body += `${" ".repeat(idLength)}","subscription":"${subscription}"`;
    body += `,"meter_code":"${meterCodes[meter]}"`;
    body += `,"quantity":${amount},"timestamp":"${timestamp}"}`;
  }
  return { organisation, body: `${body}]}`, idsAt };
}
