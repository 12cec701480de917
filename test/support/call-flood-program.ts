/**
 * The process of `floodOfCalls`: holds calls of a gRPC method open, and reports their answers to
 * its parent.
 */
import { connect } from "node:http2";

const [baseUrl = "", path = "", connections = "1", open = "1", body = ""] = process.argv.slice(2);
const headers = {
  ":method": "POST",
  ":path": path,
  "content-type": "application/grpc",
  te: "trailers",
};
const bytes = Buffer.from(body, "base64");
const statuses: Record<string, number> = {};
/** Open calls that have begun to be answered, and the most of them so far. */
let held = 0;
let maxHeld = 0;

function note(fields: Record<string, unknown>): void {
  const status = fields["grpc-status"];
  if (typeof status === "string") statuses[status] = (statuses[status] ?? 0) + 1;
}

/** Opens a connection with its calls. Another one replaces it once the server takes no more. */
function flood(): void {
  const session = connect(baseUrl);
  session.on("error", () => undefined);
  session.once("goaway", () => session.destroy());
  session.once("close", () => setImmediate(flood));
  const call = () => {
    if (session.destroyed || session.closed) return;
    const stream = session.request(headers);
    let isHeld = false;
    stream.once("response", () => {
      isHeld = true;
      held += 1;
      maxHeld = Math.max(maxHeld, held);
    });
    stream.on("response", note).on("trailers", note);
    stream.on("error", () => undefined).resume();
    stream.once("close", () => {
      if (isHeld) held -= 1;
      // A stream over the bounds is reset without an answer.
      if (stream.rstCode !== 0) statuses.reset = (statuses.reset ?? 0) + 1;
      setImmediate(call);
    });
    stream.end(bytes);
  };
  for (let opened = 0; opened < Number(open); opened += 1) call();
}

for (let index = 0; index < Number(connections); index += 1) flood();

setInterval(() => process.send?.({ statuses, maxHeld }), 100);
process.once("disconnect", () => process.exit());
