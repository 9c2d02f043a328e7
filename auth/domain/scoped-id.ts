/**
 * An id together with its org, as one word: what the authorization server's library hands around
 * as account or grant id, so that every statement it leads to can name the org.
 */
export interface ScopedId {
  readonly orgId: string;
  readonly id: string;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function formatScopedId({ orgId, id }: ScopedId): string {
  return `${orgId}.${id}`;
}

/** Undefined for anything that `formatScopedId` did not write. */
export function parseScopedId(text: string): ScopedId | undefined {
  const [orgId = '', id = '', ...rest] = text.split('.');
  if (rest.length > 0 || !uuid.test(orgId) || !uuid.test(id)) return undefined;
  return { orgId, id };
}
