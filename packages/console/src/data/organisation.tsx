/** The organisation that the page is about, with its zone and its present day. */
import { createContext, use } from "react";
import type { Organisation } from "../gen/billing/admin/v1/organisations_pb.ts";

/** The organisation and its time. */
export interface OpenOrganisation
  extends Pick<Organisation, "id" | "name" | "timezone" | "livemode"> {
  readonly whole: Organisation;
  /** Now: the clock's time in a sandbox, else the real time. */
  readonly now: string;
  /** Today in the organisation's zone. */
  readonly today: string;
}

const context = createContext<OpenOrganisation | null>(null);

/** Gives the organisation to everything inside. */
export const OrganisationProvider = context.Provider;

/** Returns the organisation of the page. */
export function useOrganisation(): OpenOrganisation {
  const organisation = use(context);
  if (organisation === null) throw new Error("this is no page of an organisation");
  return organisation;
}

/** Returns the organisation of the page, or null on a page of none. */
export function useOrganisationIfAny(): OpenOrganisation | null {
  return use(context);
}
