/** Sends an act that has no drawer, with its idempotency key. */
import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { callUnaryMethod } from "@connectrpc/connect-query";
import { queryClient, transport } from "../data/transport.ts";

/** Sends a request with the key. All that is shown is read again. */
export async function send<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  key: string,
): Promise<MessageShape<O>> {
  const headers = { "Idempotency-Key": key };
  const answer = await callUnaryMethod(transport, method, request, { headers });
  void queryClient.invalidateQueries();
  return answer;
}
