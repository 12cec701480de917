/** The attempts at a document: when each was, what the ledger answered, and how long it took. */
import { Section } from "../../design/page/page.tsx";
import { Named } from "../../design/table/named.tsx";
import table from "../../design/table/table.module.css";
import { Instant } from "../../design/values/instant.tsx";
import { grouped } from "../../design/values/money.tsx";
import { State, type StateWords } from "../../design/values/state.tsx";
import { AttemptOutcome, type DocumentAttempt } from "../../gen/billing/admin/v1/documents_pb.ts";
import { wordsOf } from "../../words/states.ts";

const outcomes: Readonly<Record<number, StateWords>> = {
  [AttemptOutcome.DONE]: { word: "Done", tone: "ok" },
  [AttemptOutcome.REFUSED]: { word: "Refused", tone: "bad" },
  [AttemptOutcome.RETRIED]: { word: "Tried again later", tone: "info" },
  [AttemptOutcome.UNCERTAIN]: { word: "Not known, looked up after", tone: "warn" },
};

/** Shows the attempts. Nothing without one. */
export function Attempts({ attempts }: { readonly attempts: readonly DocumentAttempt[] }) {
  if (attempts.length === 0) return null;
  return (
    <Section title="Attempts">
      <div className={table.frame}>
        <table className={table.table}>
          <thead>
            <tr>
              <th scope="col">Outcome</th>
              <th scope="col">Answer</th>
              <th scope="col" className={`${table.numeric} ${table.tablet}`}>
                Took
              </th>
            </tr>
          </thead>
          <tbody>
            {attempts.map(({ at, outcome, httpStatus, message, correlationId, durationMs }) => (
              <tr key={at}>
                <td>
                  <Named
                    name={<State {...wordsOf(outcomes, outcome)} />}
                    sub={<Instant at={at} />}
                  />
                </td>
                <td title={correlationId}>
                  {[httpStatus && `HTTP ${httpStatus}`, message].filter(Boolean).join(": ") || "–"}
                </td>
                <td className={`${table.numeric} ${table.tablet}`}>{grouped(durationMs)} ms</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}
