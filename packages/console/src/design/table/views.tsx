/** The views of a list that the operator saved: its filters under names. ADMIN-23 */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Button, CloseButton, TextInput } from "@mantine/core";
import { Link, type LinkProps } from "@tanstack/react-router";
import { useState } from "react";
import { useOrganisation } from "../../data/organisation.tsx";
import { queryClient } from "../../data/transport.ts";
import { SavedViewService } from "../../gen/billing/admin/v1/saved_views_pb.ts";
import { parseSearch, stringifySearch } from "../../search-params.ts";
import { announce } from "../../shell/announcer.tsx";
import { ErrorState } from "../page/error-state.tsx";
import { Skeleton } from "../page/page.tsx";
import type { Search } from "./filters.tsx";
import styles from "./table.module.css";

const { method } = SavedViewService;

interface ViewsProps {
  readonly page: string;
  readonly search: Search;
  readonly onChosen: () => void;
}

/** The views of the page, and a form that saves the present filters. */
export function Views({ page, search, onChosen }: ViewsProps) {
  const { id: organisation } = useOrganisation();
  const [name, setName] = useState("");
  const read = useQuery(method.listSavedViews, { organisation });
  const onSuccess = () => queryClient.invalidateQueries();
  const saving = useMutation(method.saveView, { onSuccess });
  const deleting = useMutation(method.deleteView, { onSuccess });
  const present = stringifySearch({ ...search, after: undefined }).slice("?".length);
  const error = read.error ?? saving.error ?? deleting.error;
  const views = read.data?.data.filter((view) => view.page === page);
  const save = async () => {
    await saving.mutateAsync({ organisation, page, name: name.trim(), search: present });
    announce(`Saved as ${name.trim()}`);
    setName("");
  };
  return (
    <>
      {views === undefined && !error && <Skeleton lines={2} />}
      {views?.length === 0 && <p className="muted">No views of this list yet.</p>}
      {views && views.length > 0 && (
        <ul>
          {views.map((view) => (
            <li key={view.id} className={styles.view}>
              <Link
                to="."
                search={parseSearch(view.search) as LinkProps["search"]}
                aria-current={view.search === present ? "true" : undefined}
                onClick={onChosen}
              >
                {view.name}
              </Link>
              <CloseButton
                size="sm"
                aria-label={`Delete the view ${view.name}`}
                onClick={() => deleting.mutate({ organisation, id: view.id })}
              />
            </li>
          ))}
        </ul>
      )}
      {present === "" ? (
        <p className="muted">Filter the list, then save it here under a name. Only you see it.</p>
      ) : (
        <form
          className={styles.save}
          onSubmit={(event) => {
            event.preventDefault();
            if (name.trim() !== "") void save().catch(() => undefined);
          }}
        >
          <TextInput
            label="Save these filters as"
            maxLength={80}
            autoComplete="off"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Button type="submit" size="xs" loading={saving.isPending} disabled={name.trim() === ""}>
            Save
          </Button>
        </form>
      )}
      {error && <ErrorState error={error} isWrite={read.error === null} />}
    </>
  );
}
