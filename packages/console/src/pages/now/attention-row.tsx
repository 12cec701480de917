/** The things that wait for a person: what each is, since when, why, and what is alike. */
import { Link, useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useOrganisation } from "../../data/organisation.tsx";
import { later } from "../../design/later.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { grouped } from "../../design/values/money.tsx";
import { Dot } from "../../design/values/state.tsx";
import { type Attention, AttentionKind } from "../../gen/billing/admin/v1/attention_pb.ts";
import { attentionKinds, kindWord, severityTones } from "../../words/attention.ts";
import { ObjectLink } from "../activity/object-link.tsx";
import styles from "./now.module.css";

const AttentionActs = later(async () => (await import("./attention-acts.tsx")).AttentionActs);

const AllOfReason = later(async () => (await import("./all-of-reason.tsx")).AllOfReason);

/** The counts end at it. */
export const countLimit = 1_000;

/** `1,000 or more` if it is as many as are counted. */
export function countText(count: number): string {
  return `${grouped(count)}${count >= countLimit ? " or more" : ""}`;
}

/** Shows the rows, or what stands in their place. What is open for a row stays without it. */
export function AttentionRows({
  rows,
  empty,
}: {
  readonly rows: readonly Attention[];
  readonly empty: ReactNode;
}) {
  const [open, setOpen] = useState<Attention>();
  return (
    <>
      {rows.length === 0 ? (
        empty
      ) : (
        <ul className={styles.queue}>
          {rows.map((each) => (
            <AttentionRow key={each.id} of={each} onAll={() => setOpen(each)} />
          ))}
        </ul>
      )}
      {open && <AllOfReason of={open} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function AttentionRow({ of, onAll }: { readonly of: Attention; readonly onAll: () => void }) {
  const { id: organisation } = useOrganisation();
  const { kind, label, objectKind, objectId, since, message, answer, sameReasonCount } = of;
  const { reason } = of;
  const isFiltered = "reason" in useSearch({ strict: false });
  return (
    <li className={styles.waiting}>
      <span className={styles.dot}>
        <Dot tone={severityTones[of.severity] ?? "warn"} />
      </span>
      <div className={styles.what}>
        <p>
          <strong>
            <ObjectLink kind={objectKind} id={objectId} label={label} isRow />
          </strong>{" "}
          <span className="muted">{attentionKinds[kind]}</span>
        </p>
        <p>{message}</p>
        {answer !== undefined && <blockquote className={styles.quote}>{answer}</blockquote>}
        {sameReasonCount > 1 && kind === AttentionKind.RENEWALS_OVERDUE && (
          <p className="muted">{countText(sameReasonCount)} subscriptions</p>
        )}
        {sameReasonCount > 1 && kind !== AttentionKind.RENEWALS_OVERDUE && !isFiltered && (
          <Link
            to="/o/$organisation/attention"
            params={{ organisation }}
            // What differs in the ledger is other words for the same reason.
            search={{
              kind: kindWord(kind),
              reason,
              answer: kind === AttentionKind.DOCUMENT_DRIFT ? undefined : answer,
            }}
            className={styles.alike}
          >
            {countText(sameReasonCount)} with this reason
          </Link>
        )}
      </div>
      <span className={styles.since}>
        since <Instant at={since} />
      </span>
      <div className={styles.acts}>
        <AttentionActs of={of} onAll={onAll} />
      </div>
    </li>
  );
}
