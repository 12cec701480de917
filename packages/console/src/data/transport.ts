/** Calls of the admin API, and what is remembered of their answers. */
import { Code, ConnectError } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { queueDearReads } from "./dear-reads.ts";
import { isSignedOut } from "./failure.ts";
import { noteSignedOut } from "./session.ts";

/** Connect over the page's own origin. The session's cookie goes with each call. */
export const transport = createConnectTransport({
  baseUrl: globalThis.location.origin,
  interceptors: [queueDearReads],
});

/** A call that was refused is refused again. One that was not answered may be. */
function isWorthRetrying(failures: number, error: Error): boolean {
  const { code } = ConnectError.from(error);
  return failures < 2 && (code === Code.Unavailable || code === Code.Unknown);
}

const onError = (error: unknown) => {
  if (isSignedOut(error)) noteSignedOut();
};

/** The cache of all reads. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: { staleTime: 5_000, retry: isWorthRetrying, retryDelay: 800 },
    mutations: { retry: false },
  },
});
