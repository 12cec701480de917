/** Imports customers from the ledger's contacts, and says what came of each. */
import { useQuery } from "@connectrpc/connect-query";
import { TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useOrganisation } from "../../data/organisation.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { Skeleton } from "../../design/page/page.tsx";
import { State, type StateWords } from "../../design/values/state.tsx";
import { Act, type Typed } from "../../forms/act.tsx";
import styles from "../../forms/forms.module.css";
import {
  CustomerService,
  type ImportResult,
  ImportStatus,
  type LedgerContact,
} from "../../gen/billing/admin/v1/customers_pb.ts";

const method = CustomerService.method;

const chosenOf = (text: string | undefined): Record<string, string> => JSON.parse(text || "{}");

/** The act: search, choose, import. */
export function ImportCustomers({ isPrimary = true }: { readonly isPrimary?: boolean }) {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="Import customers"
      title="Import customers"
      method={method.importCustomers}
      isPrimary={isPrimary}
      fields={[{ name: "chosen", label: "Contacts", kind: "hidden" }]}
      request={({ chosen }) => {
        const contacts = Object.keys(chosenOf(chosen)).map((ledgerContactId) => ({
          ledgerContactId,
        }));
        return contacts.length === 0 ? null : { organisation, contacts };
      }}
      effect={({ chosen }) => {
        const count = Object.keys(chosenOf(chosen)).length;
        if (count === 0) return "Choose contacts";
        return count === 1 ? "Import 1 customer" : `Import ${count} customers`;
      }}
      about="A customer is a contact of the ledger. Nothing is changed there."
      done={({ imported }) =>
        imported === 1 ? "1 customer was imported" : `${imported} customers were imported`
      }
      result={({ results }) => <Results results={results} />}
    >
      {(typed) => <Contacts typed={typed} />}
    </Act>
  );
}

function Contacts({ typed: { values, onType } }: { readonly typed: Typed }) {
  const { id: organisation } = useOrganisation();
  const [text, setText] = useState("");
  const [search] = useDebouncedValue(text.trim(), 300);
  const request = { organisation, importable: true, ...(search !== "" && { search }) };
  const read = useQuery(method.listLedgerContacts, request, {
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
  const chosen = chosenOf(values.chosen);
  const toggle = ({ id, name }: LedgerContact) => {
    const { [id]: present, ...others } = chosen;
    const next = present === undefined ? { ...chosen, [id]: name } : others;
    onType("chosen", Object.keys(next).length === 0 ? "" : JSON.stringify(next));
  };
  const unseen = Object.entries(chosen).filter(
    ([id]) => !read.data?.data.some((contact) => contact.id === id),
  );
  return (
    <>
      <TextInput
        label="Search the ledger's contacts"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
        autoComplete="off"
      />
      {read.error && <ErrorState error={read.error} onAgain={() => void read.refetch()} />}
      {read.data === undefined && !read.error && <Skeleton lines={5} />}
      {read.data && (
        <fieldset className={styles.contacts} aria-busy={read.isPlaceholderData}>
          <legend className="unseen">Contacts</legend>
          {read.data.data.map((contact) => (
            <label key={contact.id} className={styles.box}>
              <input
                type="checkbox"
                checked={chosen[contact.id] !== undefined}
                onChange={() => toggle(contact)}
              />
              <span>
                {contact.name}
                <span className={styles.about}>
                  {[contact.code, contact.email ?? "no e-mail address, which it needs"]
                    .filter(Boolean)
                    .join(" · ")}
                </span>
              </span>
            </label>
          ))}
          {read.data.data.length === 0 && (
            <p>
              No contact that can be imported. Add it in the ledger, or create a customer by the
              API, with one of the{" "}
              <Link to="/o/$organisation/api-keys" params={{ organisation }}>
                API keys
              </Link>
              .
            </p>
          )}
          {read.data.hasMore && <p className="muted">There are more: search for them.</p>}
        </fieldset>
      )}
      {unseen.length > 0 && <p>Also chosen: {unseen.map(([, name]) => name).join(", ")}.</p>}
    </>
  );
}

const states: Readonly<Record<number, StateWords>> = {
  [ImportStatus.IMPORTED]: { word: "Imported", tone: "ok" },
  [ImportStatus.ALREADY_IMPORTED]: { word: "Was imported before", tone: "quiet" },
  [ImportStatus.REJECTED]: { word: "Not imported", tone: "bad" },
};

function Results({ results }: { readonly results: readonly ImportResult[] }) {
  return (
    <ul className={styles.rows} aria-label="What came of each">
      {results.map(({ ledgerContactId, status, customer, error }) => (
        <li key={ledgerContactId}>
          <span>
            {customer?.name ?? ledgerContactId}
            {error && <span className={styles.about}>{error.message}</span>}
          </span>
          <State {...(states[status] ?? { word: "Unknown", tone: "quiet" })} />
        </li>
      ))}
    </ul>
  );
}
