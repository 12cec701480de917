/** What is kept of a request to a ledger, for operators. */

/** A request to a ledger. Without an answer, `status` and `correlationId` are null. */
export interface AnsweredRequest {
  readonly status: number | null;
  /** The id by which the ledger's support finds the request. */
  readonly correlationId: string | null;
  readonly durationMs: number;
}
