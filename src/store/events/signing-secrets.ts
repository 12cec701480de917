/** What the encryption of webhook endpoints' signing secrets is bound to. */

/**
 * The binding of an endpoint's encrypted secrets, the current and the previous one. They decrypt
 * for no other endpoint (ADMIN-3).
 */
export function endpointSecretBound(endpointId: string): string {
  return `webhook_endpoint/${endpointId}`;
}
