/**
 * Credit notes: the draft that the domain issues, the note as it is read back, and how much of it
 * has been applied.
 */

export type {
  Allocation,
  CreditNote,
  CreditNoteDraft,
  CreditNoteLine,
  CreditNoteLineDraft,
} from "../model/credit-note.ts";
export type { AllocationStatus } from "./allocation-status.ts";
export { allocationStatus } from "./allocation-status.ts";
