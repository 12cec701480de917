/** The organisation of the page, as the way to the others. */
import { Link } from "@tanstack/react-router";
import { useOrganisationIfAny } from "../data/organisation.tsx";
import { Icon } from "../design/icons.tsx";
import styles from "./frame.module.css";

/** The name of the organisation. It leads to the choice. */
export function OrganisationSwitch() {
  const organisation = useOrganisationIfAny();
  const name = organisation?.name ?? "Billing";
  return (
    <Link to="/" className={styles.switch} title="Organisations">
      <span>{name}</span>
      {organisation && <Icon name="down" size={12} />}
    </Link>
  );
}
