/** A page that does not exist, and a page that failed. */
import { Button } from "@mantine/core";
import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { EmptyState } from "../design/page/empty-state.tsx";
import { Page } from "../design/page/page.tsx";

/** Says that there is no such page. */
export function NotFound() {
  return (
    <Page title="No such page">
      <EmptyState title="Nothing is at this address" act={<Link to="/">To the organisations</Link>}>
        A link may be old, or a letter of it may be missing.
      </EmptyState>
    </Page>
  );
}

/** The same without the frame of an organisation. */
export function NothingHere() {
  return (
    <main style={{ padding: "1.5rem" }}>
      <NotFound />
    </main>
  );
}

/** Says that the page has a defect. Nothing of the service depends on it. */
export function PageError({ error, reset }: ErrorComponentProps) {
  return (
    <Page title="This page failed">
      <EmptyState
        title="It is a defect of the page, and nothing was changed"
        act={<Button onClick={reset}>Show it again</Button>}
      >
        {error instanceof Error ? error.message : String(error)}
      </EmptyState>
    </Page>
  );
}
