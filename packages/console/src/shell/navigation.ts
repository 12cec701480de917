/** The pages of an organisation, in the groups of the navigation. */
import type { IconName } from "../design/icons.tsx";

/** A page of the navigation. Its address is below the organisation's. */
export interface NavigationPage {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  /** What else a person may search it by. */
  readonly also: string;
}

/** A group of pages with its heading. */
interface NavigationGroup {
  readonly label: string;
  readonly pages: readonly NavigationPage[];
}

const page = (path: string, label: string, icon: IconName, also = ""): NavigationPage => ({
  path,
  label,
  icon,
  also,
});

/** The navigation, from what is now to what is set once. */
export const navigation: readonly NavigationGroup[] = [
  {
    label: "Now",
    pages: [
      page("overview", "Overview", "overview"),
      page("attention", "Attention", "attention"),
      page("activity", "Activity", "activity", "events"),
    ],
  },
  {
    label: "Sell",
    pages: [
      page("subscriptions", "Subscriptions", "subscriptions"),
      page("customers", "Customers", "customers"),
      page("plans", "Plans", "plans", "prices products"),
      page("charges", "Charges", "charges"),
      page("meters", "Meters", "meters"),
    ],
  },
  {
    label: "Bill",
    pages: [
      page("invoices", "Invoices", "invoices", "payments"),
      page("credit-notes", "Credit notes", "credits", "refunds"),
      page("usage", "Usage", "usage"),
      page("calendar", "Calendar", "calendar"),
    ],
  },
  {
    label: "Connect",
    pages: [
      page("ledger", "Ledger", "ledger", "accounting mapping"),
      page("webhooks", "Webhooks", "webhooks"),
      page("api-keys", "API keys", "keys"),
    ],
  },
  {
    label: "Settings",
    pages: [
      page("organisation", "Organisation", "organisation", "setup mode clock"),
      page("operators", "Operators", "operators", "users tokens sessions"),
      page("audit", "Audit", "audit"),
    ],
  },
];
