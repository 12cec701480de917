/** The field for an operator's token. The token goes to the service once, and nowhere else. */
import { Button, PasswordInput } from "@mantine/core";
import { useState } from "react";
import { signIn } from "../data/session.ts";
import styles from "./sign-in.module.css";

/** Signs in with a token. */
export function TokenForm({ onSignedIn }: { readonly onSignedIn: () => void }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    const refused = await signIn({ token: token.trim() });
    setBusy(false);
    setProblem(refused);
    if (refused === null) onSignedIn();
  };
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <PasswordInput
        label="Operator's token"
        autoComplete="off"
        data-autofocus
        required
        withAsterisk={false}
        value={token}
        error={problem}
        visibilityToggleButtonProps={{ "aria-label": "Show or hide the token" }}
        onChange={(event) => setToken(event.currentTarget.value)}
      />
      <Button type="submit" loading={isBusy} size="md">
        Sign in
      </Button>
    </form>
  );
}
