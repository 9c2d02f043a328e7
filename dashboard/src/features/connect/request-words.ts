import type { Me } from '#contracts/http/identities';
import type { ServiceRequest } from '#contracts/http/requests';

type RequestSubject = Pick<ServiceRequest, 'kind' | 'template' | 'name'>;

/** What is asked for, in words. */
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

/** The heading of a request that was answered. */
export function answeredWords({ kind }: Pick<ServiceRequest, 'kind'>): string {
  return kind === 'secret' ? 'is stored' : 'is connected';
}

interface AnswerLink {
  readonly href: string;
  readonly label: string;
  /** Whether the gateway serves the page, and not the dashboard. */
  readonly isExternal: boolean;
}

/** The page on which the person does what is asked for; null for services, whose form is here. */
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
 * Whether this person may answer the request. Names of people are unique within an org, and the path
 * begins with the requester's user.
 */
export function mayAnswer(
  { tier, requester }: Pick<ServiceRequest, 'tier' | 'requester'>,
  { role, name }: Pick<Me, 'role' | 'name'>,
): boolean {
  if (role === 'auditor') return false;
  return tier === 'org' ? role === 'admin' : requester.path[0] === name;
}
