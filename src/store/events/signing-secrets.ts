/** The signing secrets of webhook endpoints at rest: what they are bound to. */

/** What an endpoint's sealed secrets are bound to, the newest and the one before it alike: they open for no other endpoint. */
export function endpointSecretBound(endpointId: string): string {
  return `webhook_endpoint/${endpointId}`;
}
