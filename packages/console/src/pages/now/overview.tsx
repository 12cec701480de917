/** The organisation at a glance: what needs a person, what it earns, what is due, what runs. */
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { Page, Section, Skeleton } from "../../design/page/page.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { type Attention, AttentionService } from "../../gen/billing/admin/v1/attention_pb.ts";
import {
  type GetOverviewResponse,
  OverviewService,
} from "../../gen/billing/admin/v1/overview_pb.ts";
import { AttentionRows } from "./attention-row.tsx";
import { refetchInterval } from "./figures.ts";
import { FirstSteps } from "./first-steps.tsx";
import styles from "./now.module.css";
import { OverviewCards } from "./overview-cards.tsx";
import { RenewalsChart } from "./overview-charts.tsx";
import { OverviewFigures } from "./overview-figures.tsx";

/** The page of what is now. */
export function OverviewPage() {
  const { id: organisation } = useOrganisation();
  const read = useQuery(OverviewService.method.getOverview, { organisation }, { refetchInterval });
  return (
    <Page title="Overview">
      <FirstSteps />
      <Waiting />
      {read.error ? (
        <ErrorState error={read.error} onAgain={() => void read.refetch()} />
      ) : read.data === undefined ? (
        <Skeleton lines={10} />
      ) : (
        <Figures of={read.data} />
      )}
    </Page>
  );
}

/** At most five of what waits, of each reason the first, or that nothing does. */
function Waiting() {
  const { id: organisation } = useOrganisation();
  const request = { organisation, limit: 25 };
  const { data } = useQuery(AttentionService.method.listAttention, request);
  if (data === undefined) return <p className={styles.calm}>Looking for what needs a person …</p>;
  const { data: all, checked } = data;
  const isAlike = (a: Attention, b: Attention) =>
    a.kind === b.kind && a.reason === b.reason && a.answer === b.answer;
  const firsts = all.filter((each, index) => all.findIndex((one) => isAlike(one, each)) === index);
  const rows = firsts.slice(0, 5);
  return (
    <Section
      title="Needs a person"
      isQuiet={rows.length === 0}
      beside={
        rows.length > 0 && (
          <Link to="/o/$organisation/attention" params={{ organisation }}>
            {rows.length < all.length ? "All of it" : "The queue"}
          </Link>
        )
      }
    >
      <AttentionRows
        rows={rows}
        empty={
          <p className={styles.calm}>
            Nothing needs a person. Checked <Instant at={checked} />.
          </p>
        }
      />
    </Section>
  );
}

function Figures({ of }: { readonly of: GetOverviewResponse }) {
  if (of.asOf === undefined)
    return (
      <EmptyState title="The figures are being reckoned" docs="console">
        A new organisation has them within a minute.
      </EmptyState>
    );
  return (
    <>
      <OverviewFigures of={of} />
      <RenewalsChart of={of} />
      <OverviewCards of={of} />
      <p className={styles.below}>
        As of <Instant at={of.asOf} />
      </p>
    </>
  );
}
