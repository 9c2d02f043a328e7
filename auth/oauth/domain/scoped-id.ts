/**
 * An id together with its org. The library `oidc-provider` handles an account id or grant id as one
 * text; this text contains both, so that every SQL statement can name the org.
 */
export interface ScopedId {
  readonly orgId: string;
  readonly id: string;
}

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function formatScopedId({ orgId, id }: ScopedId): string {
  return `${orgId}.${id}`;
}

/** Parses what `formatScopedId` wrote; undefined for any other text. */
export function parseScopedId(text: string): ScopedId | undefined {
  const [orgId = '', id = '', ...rest] = text.split('.');
  if (rest.length > 0 || !uuidPattern.test(orgId) || !uuidPattern.test(id)) return undefined;
  return { orgId, id };
}
