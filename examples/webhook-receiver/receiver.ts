/**
 * A receiver of webhooks: it takes only what the service signed within five minutes, handles each
 * event once, and keeps what is newest. Its table is written in the transaction that handles the
 * event, so that a crash between the two neither loses an event nor handles one twice.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { buffer } from "node:stream/consumers";
import { type Event, verifyWebhook } from "@subscription-billing/client";

const secret = process.env.WEBHOOK_SECRET ?? ""; // whsec_…
const maxBodyBytes = 1_048_576;

const database = new DatabaseSync(process.env.RECEIVER_DATABASE ?? "receiver.db");
database.exec(`
  CREATE TABLE IF NOT EXISTS handled (event TEXT PRIMARY KEY, at TEXT DEFAULT CURRENT_TIMESTAMP);
  CREATE TABLE IF NOT EXISTS seats (
    subscription TEXT PRIMARY KEY, customer TEXT, units INTEGER, status TEXT, sequence INTEGER
  );
  CREATE TABLE IF NOT EXISTS paid (invoice TEXT PRIMARY KEY, number TEXT, total TEXT);
`);
const remember = database.prepare("INSERT INTO handled (event) VALUES (?) ON CONFLICT DO NOTHING");
// Events are not ordered. Of two events of an object the one with the higher sequence is newer.
const saveSeats = database.prepare(`
  INSERT INTO seats VALUES (?, ?, ?, ?, ?) ON CONFLICT (subscription) DO UPDATE
    SET units = excluded.units, status = excluded.status, sequence = excluded.sequence
    WHERE excluded.sequence > seats.sequence`);
const savePaid = database.prepare("INSERT INTO paid VALUES (?, ?, ?) ON CONFLICT DO NOTHING");

/** Handles an event. Returns what happened in words. */
function handle(event: Event): string {
  switch (event.type) {
    case "subscription.created":
    case "subscription.updated":
    case "subscription.ended": {
      const { id, customer_code, units, status } = event.data.object;
      const { changes } = saveSeats.run(id, customer_code, units, status, event.sequence);
      const words = `${customer_code} has ${units} seats, ${status}`;
      return changes === 0 ? `older than what is known: ${words}` : words;
    }
    case "invoice.paid": {
      const { id, number, total, currency } = event.data.object;
      savePaid.run(id, number, total);
      return `${number} over ${total} ${currency} is paid`;
    }
    default:
      // Also kinds that a later version adds.
      return "nothing to do";
  }
}

/** Handles an event unless it was handled before. */
function handleOnce(event: Event): string {
  database.exec("BEGIN IMMEDIATE");
  try {
    const isRepeated = remember.run(event.id).changes === 0;
    const words = isRepeated ? "handled before" : handle(event);
    database.exec("COMMIT");
    return words;
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

const server = createServer(async (request, response) => {
  const answer = (status: number) => response.writeHead(status).end();
  try {
    if (Number(request.headers["content-length"] ?? 0) > maxBodyBytes) return answer(413);
    // The bytes as they came: JSON that was parsed and written again has another signature.
    const body = await buffer(request);
    const header = request.headers["billing-signature"];
    const verdict = await verifyWebhook({ header: header?.toString(), body, secret });
    if (!verdict.ok) {
      console.log(`refused: ${verdict.reason}`);
      return answer(400);
    }
    const { event } = verdict;
    console.log(`${event.type} ${event.id}: ${handleOnce(event)}`);
    return answer(204);
  } catch (error) {
    // The service sends it again, for about 20 hours.
    console.error(error);
    return answer(500);
  }
});
server.listen(Number(process.env.PORT ?? 9000), "127.0.0.1", () =>
  console.log(`listening on ${(server.address() as AddressInfo).port}`),
);
process.once("SIGTERM", () => server.close(() => database.close()));
