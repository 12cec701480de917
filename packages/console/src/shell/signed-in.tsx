/** What needs an operator: all but the sign-in. A session that ends later leaves the page. */
import { useQuery } from "@connectrpc/connect-query";
import { Modal } from "@mantine/core";
import { Navigate, Outlet, useRouterState } from "@tanstack/react-router";
import { isSignedOut } from "../data/failure.ts";
import { OperatorProvider } from "../data/operator.tsx";
import { useIsSignedOut } from "../data/session.ts";
import { queryClient } from "../data/transport.ts";
import { ErrorState } from "../design/page/error-state.tsx";
import { OperatorService } from "../gen/billing/admin/v1/operators_pb.ts";
import { Shortcuts } from "./shortcuts.tsx";
import styles from "./sign-in.module.css";
import { TokenForm } from "./token-form.tsx";

/** Reads who is signed in, and shows the page or the way to sign in. */
export function SignedIn() {
  const current = useQuery(OperatorService.method.getCurrentOperator, {}, { staleTime: 60_000 });
  const { href, pathname } = useRouterState({ select: ({ location }) => location });
  const operator = current.data?.operator;
  if (operator === undefined) {
    // The page that is left stays until the sign-in is loaded, and must not lead there again.
    if (pathname === "/sign-in") return null;
    if (isSignedOut(current.error))
      return <Navigate to="/sign-in" search={href === "/" ? {} : { return: href }} replace />;
    if (current.error)
      return (
        <div className={styles.page}>
          <ErrorState error={current.error} onAgain={() => void current.refetch()} />
        </div>
      );
    return null;
  }
  return (
    <OperatorProvider value={operator}>
      <Outlet />
      <Shortcuts />
      <SignInAgain />
    </OperatorProvider>
  );
}

/** Asks for the token over the page, which keeps what was typed. */
function SignInAgain() {
  const isOver = useIsSignedOut();
  return (
    <Modal
      opened={isOver}
      onClose={() => undefined}
      withCloseButton={false}
      title="Your session has ended"
      size="sm"
    >
      <p>What you typed is still here. Nothing was done meanwhile.</p>
      <TokenForm onSignedIn={() => void queryClient.invalidateQueries()} />
    </Modal>
  );
}
