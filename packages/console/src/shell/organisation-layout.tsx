/** The pages of one organisation: reads it and its time, and puts the frame around them. */
import { useQuery } from "@connectrpc/connect-query";
import { Outlet, useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import { type OpenOrganisation, OrganisationProvider } from "../data/organisation.tsx";
import { ErrorState } from "../design/page/error-state.tsx";
import { Skeleton } from "../design/page/page.tsx";
import { dayOf } from "../design/values/instant.tsx";
import { OrganisationService } from "../gen/billing/admin/v1/organisations_pb.ts";
import { TestClockService } from "../gen/billing/admin/v1/test_clock_pb.ts";
import { Frame } from "./frame.tsx";
import { Palette } from "./palette.tsx";

/** Reads the organisation of the address, and shows its page. */
export function OrganisationLayout() {
  const { organisation: id } = useParams({ from: "/signed-in/o/$organisation" });
  const read = useQuery(OrganisationService.method.getOrganisation, { id }, { staleTime: 60_000 });
  const organisation = read.data?.organisation;
  const isSandbox = organisation?.livemode === false;
  const clock = useQuery(
    TestClockService.method.getTestClock,
    { organisation: id },
    { enabled: isSandbox },
  );
  const now = isSandbox ? clock.data?.testClock?.now : undefined;
  const open = useMemo((): OpenOrganisation | null => {
    if (organisation === undefined) return null;
    const time = now ?? new Date().toISOString();
    const { name, timezone, livemode } = organisation;
    return {
      id,
      name,
      timezone,
      livemode,
      whole: organisation,
      now: time,
      today: dayOf(time, timezone),
    };
  }, [id, organisation, now]);
  return (
    <OrganisationProvider value={open}>
      <Frame>
        {open ? (
          <Outlet />
        ) : read.error ? (
          <ErrorState error={read.error} onAgain={() => void read.refetch()} />
        ) : (
          <Skeleton lines={6} />
        )}
      </Frame>
      {open && <Palette />}
    </OrganisationProvider>
  );
}
