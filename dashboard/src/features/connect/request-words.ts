import type { Me } from '#contracts/http/identities';
import type { ServiceRequest } from '#contracts/http/requests';

type RequestSubject = Pick<ServiceRequest, 'kind' | 'template' | 'name'>;

/** What the request asks for, in words. */
export function subjectOf({ kind, template, name }: RequestSubject): string {
  if (kind === 'secret') return `the secret ${name ?? ''}`;
  if (kind === 'connection') return `the account ${name ?? ''}`;
  return template?.title ?? name ?? 'a service';
}

/** The heading of an open request. */
export function questionOf(request: RequestSubject): string {
  return request.kind === 'secret'
    ? `Enter ${subjectOf(request)}?`
    : `Connect ${subjectOf(request)}?`;
}

/** The rest of the heading after a request was answered, such as `is stored`. */
export function answeredWords({ kind }: Pick<ServiceRequest, 'kind'>): string {
  return kind === 'secret' ? 'is stored' : 'is connected';
}

interface AnswerLink {
  readonly href: string;
  readonly label: string;
  /** Whether the page belongs to the gateway itself and not to the dashboard. */
  readonly isExternal: boolean;
}

/**
 * The link to the page where the person fulfils the request. Null for services, which have their
 * form on this page.
 */
export function answerLinkOf(
  request: Pick<ServiceRequest, 'id' | 'kind' | 'connection_id' | 'scopes'>,
): AnswerLink | null {
  const { id, kind, connection_id: connectionId, scopes } = request;
  if (kind === 'secret') {
    return { href: `/provide/${id}`, label: 'Enter the secret', isExternal: false };
  }
  if (kind !== 'connection' || connectionId === null || connectionId === undefined) return null;
  const query = scopes.length === 0 ? '' : `?scope=${encodeURIComponent(scopes.join(' '))}`;
  const href = `/connect/repair/${connectionId}${query}`;
  return { href, label: 'Connect the account', isExternal: true };
}

/**
 * Whether this person may answer the request. The requester's path begins with the name of its
 * user, and names of people are unique within an org.
 */
export function mayAnswer(
  { tier, requester }: Pick<ServiceRequest, 'tier' | 'requester'>,
  { role, name }: Pick<Me, 'role' | 'name'>,
): boolean {
  if (role === 'auditor') return false;
  return tier === 'org' ? role === 'admin' : requester.path[0] === name;
}
