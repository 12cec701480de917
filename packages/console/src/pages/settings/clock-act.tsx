/** Advances the clock of a sandbox, after what falls due has been seen. */
import { useId } from "react";
import { useOrganisation } from "../../data/organisation.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { grouped, Money } from "../../design/values/money.tsx";
import { Act, type Typed } from "../../forms/act.tsx";
import styles from "../../forms/forms.module.css";
import {
  type PreviewAdvanceTestClockResponse,
  TestClockService,
} from "../../gen/billing/admin/v1/test_clock_pb.ts";

const method = TestClockService.method;

const units = {
  days: { max: 62, word: "day" },
  months: { max: 24, word: "month" },
} as const;

const unitOf = (by: string | undefined) => (by === "days" ? "days" : "months");

function stepText(by: string | undefined, count: number): string {
  const { word } = units[unitOf(by)];
  return count === 1 ? `1 ${word}` : `${count} ${word}s`;
}

/** The act, with its preview. */
export function AdvanceClock() {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="Advance"
      title="Advance the clock"
      method={method.advanceTestClock}
      preview={method.previewAdvanceTestClock}
      fields={[
        {
          name: "by",
          label: "Step",
          choices: [
            ["months", "Months"],
            ["days", "Days"],
          ],
        },
        { name: "count", label: "Steps", kind: "hidden", initial: "1" },
      ]}
      request={({ by, count }) => ({ organisation, [unitOf(by)]: Number(count) })}
      effect={({ by, count }) => `Advance the clock by ${stepText(by, Number(count))}`}
      about="Everything that falls due on the way happens, in its order. A clock never goes back."
      shown={(preview) => <FallsDue of={preview} />}
      done="The clock was set going"
    >
      {(typed) => <Slider typed={typed} />}
    </Act>
  );
}

function Slider({ typed: { values, onType } }: { readonly typed: Typed }) {
  const id = useId();
  const { max } = units[unitOf(values.by)];
  const count = Math.min(Number(values.count), max);
  return (
    <div className={styles.slider}>
      <label htmlFor={id}>How far</label>
      <output htmlFor={id} className="number">
        {stepText(values.by, count)}
      </output>
      <input
        id={id}
        type="range"
        min={1}
        max={max}
        value={count}
        aria-valuetext={stepText(values.by, count)}
        onChange={(event) => onType("count", event.currentTarget.value)}
      />
    </div>
  );
}

function FallsDue({ of }: { readonly of: PreviewAdvanceTestClockResponse }) {
  const { from, to, subscriptions, starts, renewals, ends, totals, parked, hasMore } = of;
  return (
    <div className={styles.preview}>
      <p>
        From <Instant at={from} /> to <Instant at={to} />:
      </p>
      {subscriptions === 0 ? (
        <p>Nothing falls due.</p>
      ) : (
        <table>
          <caption className="unseen">What falls due</caption>
          <tbody>
            <Row name="Subscriptions" value={subscriptions} />
            <Row name="Starts" value={starts} />
            <Row name="Renewals" value={renewals} />
            <Row name="Ends" value={ends} />
            {totals.flatMap(({ currency, invoices, invoiced, creditNotes, credited }) => [
              <tr key={`${currency} invoiced`}>
                <td>{grouped(invoices)} invoices</td>
                <td>
                  <Money amount={invoiced} currency={currency} />
                </td>
              </tr>,
              creditNotes > 0 && (
                <tr key={`${currency} credited`}>
                  <td>{grouped(creditNotes)} credit notes</td>
                  <td>
                    <Money amount={credited} currency={currency} />
                  </td>
                </tr>
              ),
            ])}
          </tbody>
        </table>
      )}
      {parked > 0 && <p>{grouped(parked)} are parked: nothing of them happens.</p>}
      {hasMore && <p>There is more than was counted.</p>}
    </div>
  );
}

function Row({ name, value }: { readonly name: string; readonly value: number }) {
  if (value === 0) return null;
  return (
    <tr>
      <td>{name}</td>
      <td className="number">{grouped(value)}</td>
    </tr>
  );
}
