/**
 * Bodies of usage reports with the places where the ids of their events stand, so that whoever sends them only writes ids. Each is of one
 * organisation; its events are of different subscriptions and both meters, with quantities as text and as numbers.
 */
import { idLength } from "./usage-ids.ts";
import { meterCodes } from "./usage-meters.ts";

/** The events of a report, but for their ids. */
export interface Batch {
  /** Whose it is: an index of the organisations. */
  readonly organisation: number;
  readonly body: string;
  /** Where in the body the id of each event stands. */
  readonly idsAt: readonly number[];
}

/** What an event says, in the forms that a report and a statement have it. */
export interface MeasuredEvent {
  readonly subscription: string;
  readonly meter: number;
  readonly quantity: string;
  readonly timestamp: string;
}

/** An hour: long past every clock's difference, and in the current month but on its first day. */
const agoMs = 3_600_000;

/** Events of these subscriptions from the one with the index `from` on, in turn, as of about an hour ago. */
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
    body += `${" ".repeat(idLength)}","subscription":"${subscription}","meter_code":"${meterCodes[meter]}"`;
    body += `,"quantity":${amount},"timestamp":"${timestamp}"}`;
  }
  return { organisation, body: `${body}]}`, idsAt };
}
