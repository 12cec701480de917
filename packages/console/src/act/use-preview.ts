/** The preview of an act, read again once nobody types. */
import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { callUnaryMethod, useTransport } from "@connectrpc/connect-query";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

/** After the last key. */
const pauseMs = 300;

/** A preview is good for so long. */
const maxAgeMs = 60_000;

/** Reads the preview of what the form says. `isFrozen`: it stays as it is. */
export function usePreview<P extends DescMessage>(
  method: DescMethodUnary<DescMessage, P> | undefined,
  request: object | null,
  isFrozen: boolean,
) {
  const transport = useTransport();
  const asked = method === undefined || request === null ? null : membersFor(method, request);
  const [settled] = useDebouncedValue(asked, pauseMs);
  const read = useQuery<MessageShape<P> | null, ConnectError>({
    queryKey: ["preview", method?.parent.typeName, method?.name, settled],
    queryFn: ({ signal }) =>
      method === undefined || settled === null
        ? null
        : callUnaryMethod(transport, method, JSON.parse(settled) as MessageInitShape<DescMessage>, {
            signal,
          }),
    enabled: !isFrozen && settled !== null,
    placeholderData: keepPreviousData,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const isOld = useIsOld(read.dataUpdatedAt) && !isFrozen;
  const isSame = asked === settled && !read.isPlaceholderData && !read.isFetching;
  const data = asked === null ? undefined : (read.data ?? undefined);
  return {
    data,
    error: asked === null ? null : read.error,
    isOld,
    isCurrent: data !== undefined && isSame && !read.error && !isOld,
    isLoading: asked !== null && !isSame,
    reload: () => void read.refetch(),
  };
}

/** The members that the preview takes too, as text. */
function membersFor({ input }: DescMethodUnary, request: object): string {
  const members = Object.entries(request).filter(([name]) => name in input.field);
  return JSON.stringify(Object.fromEntries(members));
}

/** Whether what was read then is too old by now. */
function useIsOld(readAtMs: number): boolean {
  const [oldMs, setOldMs] = useState(0);
  useEffect(() => {
    if (readAtMs === 0) return;
    const timer = setTimeout(() => setOldMs(readAtMs), readAtMs + maxAgeMs - Date.now());
    return () => clearTimeout(timer);
  }, [readAtMs]);
  return oldMs !== 0 && oldMs === readAtMs;
}
