/** The queue of what waits for a person, the most severe first. */
import { useQuery } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { Link, type LinkProps, useNavigate, useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { LinkTabs } from "../../design/page/link-tabs.tsx";
import { Page, Skeleton } from "../../design/page/page.tsx";
import { Instant } from "../../design/values/instant.tsx";
import {
  AttentionKind,
  AttentionService,
  type ListAttentionResponse,
} from "../../gen/billing/admin/v1/attention_pb.ts";
import { attentionKinds, kindWord } from "../../words/attention.ts";
import { choiceOf } from "../../words/choices.ts";
import { AttentionRows, countText } from "./attention-row.tsx";
import styles from "./now.module.css";

const route = { from: "/signed-in/o/$organisation/attention" } as const;

/** Lists what waits. */
export function AttentionPage() {
  const { id: organisation } = useOrganisation();
  const search = useSearch(route);
  const list = useList(AttentionService.method.listAttention, {
    organisation,
    kind: choiceOf(AttentionKind, search.kind),
    // The service lists a kind: those of a reason are looked for in as many as it lists at once.
    limit: search.reason === undefined ? pageSize : 100,
    startingAfter: search.after,
  });
  return (
    <Page title="Attention" lead="What waits for a person. Everything else goes on by itself.">
      <KindTabs current={search.kind} />
      {list.error ? (
        <ErrorState error={list.error} onAgain={() => void list.refetch()} />
      ) : list.data === undefined ? (
        <Skeleton lines={8} />
      ) : (
        <Queue answer={list.data} />
      )}
    </Page>
  );
}

function Queue({ answer: { data, hasMore, checked } }: { readonly answer: ListAttentionResponse }) {
  const navigate = useNavigate();
  const wanted = useSearch(route);
  const last = data.at(-1);
  const rows = data.filter(
    ({ reason, answer }) =>
      reason === (wanted.reason ?? reason) && answer === (wanted.answer ?? answer),
  );
  return (
    <>
      {wanted.reason !== undefined && (
        <p className={styles.reason}>
          Those with the reason “{wanted.answer ?? rows[0]?.message ?? wanted.reason}”.{" "}
          <Link to="." search={{ kind: wanted.kind } as LinkProps["search"]}>
            All of this kind
          </Link>
        </p>
      )}
      <AttentionRows
        rows={rows}
        empty={
          <EmptyState title={hasMore ? "None among these" : "Nothing needs a person"}>
            Checked <Instant at={checked} />.
          </EmptyState>
        }
      />
      {hasMore && last && (
        <Button
          variant="default"
          mt="md"
          onClick={() =>
            void navigate({
              to: ".",
              search: (old: Record<string, unknown>) => ({ ...old, after: last.id }),
            })
          }
        >
          More
        </Button>
      )}
    </>
  );
}

function KindTabs({ current }: { readonly current: string | undefined }) {
  const { id: organisation } = useOrganisation();
  const { data } = useQuery(AttentionService.method.countAttention, { organisation });
  const to = (kind: string | undefined): LinkProps => ({
    to: ".",
    search: { kind } as LinkProps["search"],
  });
  const tabs = (data?.counts ?? []).map(({ kind, count }) => {
    const word = kindWord(kind);
    const label = `${attentionKinds[kind] ?? "Other"}, ${countText(count)}`;
    return { label, to: to(word), isCurrent: word === current };
  });
  const all = { label: "All", to: to(undefined), isCurrent: current === undefined };
  return <LinkTabs name="By kind" tabs={[all, ...tabs]} />;
}
