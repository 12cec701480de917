/** Reads one page of a list. The rows of the page before stay until the next one is there. */
import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData, type UseQueryResult } from "@tanstack/react-query";

/** The rows of a page. */
export const pageSize = 25;

/** What a table needs to know of the answer. */
export type ListAnswer<Row> = Pick<
  UseQueryResult<{ readonly data: readonly Row[]; readonly hasMore: boolean }, ConnectError>,
  "data" | "error" | "isPlaceholderData" | "refetch" | "isFetching"
>;

/** Reads a page of a list. */
export function useList<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
): UseQueryResult<MessageShape<O>, ConnectError> {
  return useQuery(method, request, { placeholderData: keepPreviousData });
}
