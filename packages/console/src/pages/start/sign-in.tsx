/** The sign-in: by a token, or by the code that a link of the local start has in its fragment. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { signIn } from "../../data/session.ts";
import { queryClient } from "../../data/transport.ts";
import { Disclosure } from "../../design/page/disclosure.tsx";
import { useTitle } from "../../design/page/page.tsx";
import styles from "../../shell/sign-in.module.css";
import { TokenForm } from "../../shell/token-form.tsx";

/** The page that signs in, and leads back to where one was. */
export function SignInPage() {
  useTitle("Sign in");
  const { return: back = "/" } = useSearch({ from: "/sign-in" });
  const navigate = useNavigate();
  const enter = async () => {
    queryClient.clear();
    // Only a path of this page: an address of somebody else is no place to return to.
    const isPath = back.startsWith("/") && !back.startsWith("//");
    await navigate({ href: isPath ? back : "/", replace: true });
  };
  const problem = useCodeOfLink(enter);
  return (
    <main className={styles.page}>
      <div className={styles.card}>
        <h1 tabIndex={-1} id="title">
          Billing console
        </h1>
        <p className="muted">Sign in to see and steer what is billed.</p>
        {problem !== null && <p role="alert">{problem}</p>}
        <TokenForm onSignedIn={() => void enter()} />
        <Disclosure title="What is a token, and where do I get one?">
          <p>
            It names you as an operator, with a role. An owner creates it on the page Operators. The
            first one, on the machine of the service:
          </p>
          <code className={styles.code}>npm run operator -- create-first</code>
          <p>It is sent once, and a session begins. The page does not keep it.</p>
        </Disclosure>
      </div>
    </main>
  );
}

/** Takes the code out of the address before anything else, and signs in by it. */
function useCodeOfLink(onSignedIn: () => Promise<void>): string | null {
  const [problem, setProblem] = useState<string | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a code works once, when the page opens
  useEffect(() => {
    const code = new URLSearchParams(location.hash.slice(1)).get("code");
    if (code === null) return;
    history.replaceState(history.state, "", location.pathname + location.search);
    const begin = async () => {
      const refused = await signIn({ code });
      if (refused === null) await onSignedIn();
      else setProblem(`${refused} A link works once, for ten minutes. A token works always.`);
    };
    void begin();
  }, []);
  return problem;
}
