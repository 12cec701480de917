/** The settings of the organisation. */
import { useQuery } from "@connectrpc/connect-query";
import { useOrganisation } from "../../data/organisation.tsx";
import { type Fact, FactList } from "../../design/page/facts.tsx";
import { Card, Page, Section } from "../../design/page/page.tsx";
import { Copyable } from "../../design/values/copyable.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { State } from "../../design/values/state.tsx";
import { FirstInvoiceStatus } from "../../gen/billing/admin/v1/organisations_pb.ts";
import {
  type GetTestClockResponse,
  TestClockService,
  TestClockState,
} from "../../gen/billing/admin/v1/test_clock_pb.ts";

import { AdvanceClock } from "./clock-act.tsx";
import { UpdateOrganisation } from "./organisation-acts.tsx";
import { SetSetupMode } from "./setup-mode-act.tsx";

const firstInvoices: Readonly<Record<number, string>> = {
  [FirstInvoiceStatus.DRAFT]: "a draft",
  [FirstInvoiceStatus.AWAITING_APPROVAL]: "awaiting approval",
  [FirstInvoiceStatus.APPROVED]: "approved",
};

const days = (count: number) => (count === 1 ? "1 day" : `${count} days`);
const yes = (is: boolean) => (is ? "yes" : "no");

/** Shows the settings. */
export function OrganisationPage() {
  const { whole, livemode } = useOrganisation();
  const facts: Fact[] = [
    ["Name", whole.name],
    ["Mode", livemode ? "live" : "sandbox"],
    ["Time zone", whole.timezone],
    ["Currency of new plans", whole.defaultCurrency],
    [
      "Renewals are invoiced",
      whole.invoiceCreateDays === 0 ? "on their day" : `${days(whole.invoiceCreateDays)} before`,
    ],
    ["A first invoice is", firstInvoices[whole.firstInvoiceStatus] ?? "–"],
    ["Invoices are due after", days(whole.dueDays)],
    ["Numbers begin with", <code key="prefix">{whole.numberPrefix}</code>],
    ["Revenue account", whole.revenueAccount ?? "not mapped"],
    ["Tax type", whole.taxType ?? "not mapped"],
    ["May create contacts in the ledger", yes(whole.canCreateLedgerContacts)],
    ["Usage may be reported", yes(whole.usageAllowed)],
    ["Created", <Instant key="created" at={whole.created} />],
    ["Id", <Copyable key="id" text={whole.id} what="organisation id" />],
  ];
  return (
    <Page title="Organisation">
      <Section title="Setup Mode" beside={<SetSetupMode />}>
        <Card>
          {whole.setupMode ? (
            <State word="On: nothing is billed while it is" tone="warn" />
          ) : (
            <State word="Off: subscriptions are billed" tone="ok" />
          )}
        </Card>
      </Section>
      {!livemode && <Clock />}
      <Section title="Settings" beside={<UpdateOrganisation organisation={whole} />}>
        <Card>
          <FactList facts={facts} />
        </Card>
      </Section>
    </Page>
  );
}

const isAdvancing = (answer: GetTestClockResponse | undefined) =>
  answer?.testClock?.state === TestClockState.ADVANCING;

/** The clock of a sandbox. */
function Clock() {
  const { id: organisation } = useOrganisation();
  const { data } = useQuery(
    TestClockService.method.getTestClock,
    { organisation },
    { refetchInterval: ({ state: { data: last } }) => (isAdvancing(last) ? 1_000 : 30_000) },
  );
  const clock = data?.testClock;
  if (clock === undefined) return null;
  const { state, now, advance } = clock;
  const words =
    state === TestClockState.REAL_TIME
      ? "It shows real time"
      : state === TestClockState.ADVANCING
        ? "It is being advanced"
        : "It stands";
  const facts: (Fact | false)[] = [
    ["Now", <Instant key="now" at={now} />],
    ["State", words],
    advance !== undefined && [
      "Last advance",
      `${advance.invoicesIssued} invoices issued, ${advance.parked} parked`,
    ],
  ];
  return (
    <Section title="Clock" beside={state !== TestClockState.ADVANCING && <AdvanceClock />}>
      <Card>
        <FactList facts={facts.filter((fact) => fact !== false)} />
      </Card>
    </Section>
  );
}
