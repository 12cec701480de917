/** The addresses of the console. Each page is loaded when it is opened. */
import { createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import {
  inOrganisation,
  organisation,
  organisations,
  root,
  signedIn,
  signIn,
} from "./base-routes.tsx";
import { parseSearch, stringifySearch, texts } from "./search-params.ts";
import { NotFound, PageError } from "./shell/not-found.tsx";

const firstPage = createRoute({
  ...inOrganisation,
  path: "/",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/o/$organisation/overview", params, replace: true });
  },
});

const overview = createRoute({
  ...inOrganisation,
  path: "overview",
  component: lazyRouteComponent(() => import("./pages/now/overview.tsx"), "OverviewPage"),
});

const attention = createRoute({
  ...inOrganisation,
  path: "attention",
  validateSearch: texts("kind", "reason", "answer", "after"),
  component: lazyRouteComponent(() => import("./pages/now/attention.tsx"), "AttentionPage"),
});

const activity = createRoute({
  ...inOrganisation,
  path: "activity",
  validateSearch: texts("type", "object", "after"),
  component: lazyRouteComponent(() => import("./pages/activity/activity.tsx"), "ActivityPage"),
});

const event = createRoute({
  ...inOrganisation,
  path: "activity/$id",
  component: lazyRouteComponent(() => import("./pages/activity/event.tsx"), "EventPage"),
});

const subscriptions = createRoute({
  ...inOrganisation,
  path: "subscriptions",
  validateSearch: texts(
    "status",
    "customer",
    "customer_code",
    "label",
    "number",
    "plan",
    "renewal_from",
    "renewal_to",
    "after",
  ),
  component: lazyRouteComponent(
    () => import("./pages/subscriptions/subscriptions.tsx"),
    "SubscriptionsPage",
  ),
});

const newSubscription = createRoute({
  ...inOrganisation,
  path: "subscriptions/new",
  validateSearch: texts("customer", "plan"),
  component: lazyRouteComponent(
    () => import("./pages/subscriptions/new/new-subscription.tsx"),
    "NewSubscriptionPage",
  ),
});

const subscription = createRoute({
  ...inOrganisation,
  path: "subscriptions/$id",
  validateSearch: texts("tab", "show", "after", "act"),
  component: lazyRouteComponent(
    () => import("./pages/subscriptions/subscription.tsx"),
    "SubscriptionPage",
  ),
});

const customers = createRoute({
  ...inOrganisation,
  path: "customers",
  validateSearch: texts("status", "code", "email", "search", "after"),
  component: lazyRouteComponent(() => import("./pages/customers/customers.tsx"), "CustomersPage"),
});

const customer = createRoute({
  ...inOrganisation,
  path: "customers/$id",
  validateSearch: texts("tab", "after"),
  component: lazyRouteComponent(() => import("./pages/customers/customer.tsx"), "CustomerPage"),
});

const plans = createRoute({
  ...inOrganisation,
  path: "plans",
  validateSearch: texts("status", "code", "after"),
  component: lazyRouteComponent(() => import("./pages/catalogue/plans.tsx"), "PlansPage"),
});

const plan = createRoute({
  ...inOrganisation,
  path: "plans/$id",
  validateSearch: texts("units"),
  component: lazyRouteComponent(() => import("./pages/catalogue/plan.tsx"), "PlanPage"),
});

const charges = createRoute({
  ...inOrganisation,
  path: "charges",
  validateSearch: texts("status", "code", "after"),
  component: lazyRouteComponent(() => import("./pages/catalogue/charges.tsx"), "ChargesPage"),
});

const meters = createRoute({
  ...inOrganisation,
  path: "meters",
  validateSearch: texts("status", "code", "after"),
  component: lazyRouteComponent(() => import("./pages/catalogue/meters.tsx"), "MetersPage"),
});

const documentKeys = [
  "status",
  "number",
  "subscription",
  "customer",
  "customer_code",
  "issued_from",
  "issued_to",
  "after",
] as const;

const invoices = createRoute({
  ...inOrganisation,
  path: "invoices",
  validateSearch: texts(...documentKeys, "due_from", "due_to", "renewal_from", "renewal_to"),
  component: lazyRouteComponent(() => import("./pages/documents/documents.tsx"), "InvoicesPage"),
});

const invoice = createRoute({
  ...inOrganisation,
  path: "invoices/$id",
  validateSearch: texts(),
  component: lazyRouteComponent(() => import("./pages/documents/invoice.tsx"), "InvoicePage"),
});

const creditNotes = createRoute({
  ...inOrganisation,
  path: "credit-notes",
  validateSearch: texts(...documentKeys),
  component: lazyRouteComponent(() => import("./pages/documents/documents.tsx"), "CreditNotesPage"),
});

const creditNote = createRoute({
  ...inOrganisation,
  path: "credit-notes/$id",
  validateSearch: texts(),
  component: lazyRouteComponent(
    () => import("./pages/documents/credit-note.tsx"),
    "CreditNotePage",
  ),
});

const calendar = createRoute({
  ...inOrganisation,
  path: "calendar",
  component: lazyRouteComponent(() => import("./pages/now/calendar.tsx"), "CalendarPage"),
});

const usage = createRoute({
  ...inOrganisation,
  path: "usage",
  validateSearch: texts("subscription", "meter", "plan", "after"),
  component: lazyRouteComponent(() => import("./pages/usage/usage.tsx"), "UsagePage"),
});

const ledger = createRoute({
  ...inOrganisation,
  path: "ledger",
  validateSearch: texts("tab", "state", "after"),
  component: lazyRouteComponent(() => import("./pages/ledger/ledger.tsx"), "LedgerPage"),
});

const webhooks = createRoute({
  ...inOrganisation,
  path: "webhooks",
  validateSearch: texts("status", "after"),
  component: lazyRouteComponent(() => import("./pages/webhooks/webhooks.tsx"), "WebhooksPage"),
});

const webhookEndpoint = createRoute({
  ...inOrganisation,
  path: "webhooks/$id",
  validateSearch: texts("state", "type", "after"),
  component: lazyRouteComponent(() => import("./pages/webhooks/endpoint.tsx"), "EndpointPage"),
});

const delivery = createRoute({
  ...inOrganisation,
  path: "webhooks/deliveries/$id",
  validateSearch: texts(),
  component: lazyRouteComponent(() => import("./pages/webhooks/delivery.tsx"), "DeliveryPage"),
});

const apiKeys = createRoute({
  ...inOrganisation,
  path: "api-keys",
  validateSearch: texts("after"),
  component: lazyRouteComponent(() => import("./pages/settings/api-keys.tsx"), "ApiKeysPage"),
});

const organisationSettings = createRoute({
  ...inOrganisation,
  path: "organisation",
  validateSearch: texts(),
  component: lazyRouteComponent(
    () => import("./pages/settings/organisation.tsx"),
    "OrganisationPage",
  ),
});

const operators = createRoute({
  ...inOrganisation,
  path: "operators",
  validateSearch: texts("after"),
  component: lazyRouteComponent(() => import("./pages/settings/operators.tsx"), "OperatorsPage"),
});

const audit = createRoute({
  ...inOrganisation,
  path: "audit",
  validateSearch: texts("operator", "target", "everywhere", "after"),
  component: lazyRouteComponent(() => import("./pages/activity/audit.tsx"), "AuditPage"),
});

const tree = root.addChildren([
  signIn,
  signedIn.addChildren([
    organisations,
    organisation.addChildren([
      firstPage,
      overview,
      attention,
      activity,
      event,
      subscriptions,
      newSubscription,
      subscription,
      customers,
      customer,
      plans,
      plan,
      charges,
      meters,
      invoices,
      invoice,
      creditNotes,
      creditNote,
      usage,
      calendar,
      ledger,
      webhooks,
      webhookEndpoint,
      delivery,
      apiKeys,
      organisationSettings,
      operators,
      audit,
    ]),
  ]),
]);

/** The router. */
export const router = createRouter({
  routeTree: tree,
  basepath: "/console",
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultNotFoundComponent: NotFound,
  defaultErrorComponent: PageError,
  parseSearch,
  stringifySearch,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
  interface HistoryState {
    hasNewer?: boolean;
  }
}
