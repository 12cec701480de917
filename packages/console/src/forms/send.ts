/** Sends an act that has no drawer, with its idempotency key. */
import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { callUnaryMethod } from "@connectrpc/connect-query";
import { transport } from "../data/transport.ts";

/** Sends a request with the key. The caller reads what is shown again. */
export function send<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  key: string,
): Promise<MessageShape<O>> {
  const headers = { "Idempotency-Key": key };
  return callUnaryMethod(transport, method, request, { headers });
}
