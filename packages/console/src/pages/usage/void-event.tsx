/** Voids a usage event, after what becomes of its period has been seen. */
import { useOrganisation } from "../../data/organisation.tsx";
import { grouped, Money } from "../../design/values/money.tsx";
import { Act } from "../../forms/act.tsx";
import styles from "../../forms/forms.module.css";
import {
  type PreviewVoidUsageEventResponse,
  type UsageEvent,
  UsageService,
  type UsageSoFar,
} from "../../gen/billing/admin/v1/usage_pb.ts";
import { quantityText } from "./columns.tsx";

const method = UsageService.method;

/** The act of an event that is not billed and not voided. */
export function VoidEvent({ event: { id, voidedAt, billed } }: { readonly event: UsageEvent }) {
  const { id: organisation } = useOrganisation();
  if (voidedAt !== undefined || billed) return null;
  return (
    <Act
      isInRow
      label="Void"
      title="Void the event"
      method={method.voidUsageEvent}
      preview={method.previewVoidUsageEvent}
      request={() => ({ organisation, id })}
      effect="Void the event"
      about="It does not count and is not listed. The audit log has it, for good."
      shown={(preview) => <Change of={preview} />}
      done="The event was voided"
      isDangerous
    />
  );
}

function Change({ of: { before, after, currency } }: { of: PreviewVoidUsageEventResponse }) {
  if (before === undefined || after === undefined) return null;
  return (
    <div className={styles.preview}>
      <table>
        <caption className="unseen">The period before and after</caption>
        <thead>
          <tr>
            <th scope="col">Its period</th>
            <th scope="col">Events</th>
            <th scope="col">Quantity</th>
            <th scope="col">Amount</th>
          </tr>
        </thead>
        <tbody>
          <SoFar name="Now" of={before} currency={currency} />
          <SoFar name="Afterwards" of={after} currency={currency} />
        </tbody>
      </table>
    </div>
  );
}

function SoFar({ name, of, currency }: { name: string; of: UsageSoFar; currency: string }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className="number">{grouped(of.events)}</td>
      <td className="number">{quantityText(of.quantity)}</td>
      <td>
        <Money amount={of.amount} currency={currency} />
      </td>
    </tr>
  );
}
