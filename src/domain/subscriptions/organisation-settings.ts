/** The organisation's settings that billing rules read. */

export type { FirstInvoiceStatus, OrganisationSettings } from "../model/organisation-settings.ts";
