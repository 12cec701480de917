/** Turns Setup Mode on or off, after its effects have been seen. */
import { useOrganisation } from "../../data/organisation.tsx";
import { grouped } from "../../design/values/money.tsx";
import { Act } from "../../forms/act.tsx";
import styles from "../../forms/forms.module.css";
import {
  OrganisationService,
  type PreviewSetSetupModeResponse,
} from "../../gen/billing/admin/v1/organisations_pb.ts";

const method = OrganisationService.method;

/** The act, with its preview. */
export function SetSetupMode() {
  const { whole } = useOrganisation();
  const setupMode = !whole.setupMode;
  const words = setupMode ? "Turn Setup Mode on" : "Turn Setup Mode off";
  return (
    <Act
      label={setupMode ? "Turn on" : "Turn off"}
      title={words}
      method={method.setSetupMode}
      preview={method.previewSetSetupMode}
      request={() => ({ id: whole.id, setupMode })}
      effect={words}
      about={
        setupMode
          ? "While it is on, subscriptions can be entered as they are elsewhere, and " +
            "nothing of them is billed."
          : "From then on subscriptions are billed: what is due is invoiced by itself."
      }
      shown={(preview) => <Effects of={preview} />}
      done={setupMode ? "Setup Mode was turned on" : "Setup Mode was turned off"}
    />
  );
}

function Effects({ of }: { readonly of: PreviewSetSetupModeResponse }) {
  const { effects, unbilledSubscriptions, dueSubscriptions } = of;
  return (
    <div className={styles.preview}>
      <ul>
        {effects.map((effect) => (
          <li key={effect}>{effect}</li>
        ))}
        {dueSubscriptions > 0 && (
          <li>{grouped(dueSubscriptions)} subscriptions are due, and are billed before it.</li>
        )}
        {unbilledSubscriptions > 0 && (
          <li>
            {grouped(unbilledSubscriptions)} subscriptions are in a period that began in Setup Mode.
            That period is not billed.
          </li>
        )}
      </ul>
    </div>
  );
}
