import { eventTypes, publicEventTypes } from '#contracts/events';
import type { EventType, FeedItem } from '#contracts/events';
import type { Principal } from '#contracts/vocabulary';
import { nearestName } from '#errors';
import { invalidRequest } from './validate.ts';
import type { Issue } from './validate.ts';

/** `types=approval.raised,execution.*`: the public event types it names; null when it names none. */
export function parseEventTypes(given: string | undefined): EventType[] | null {
  if (given === undefined || given.trim() === '') return null;
  const issues: Issue[] = [];
  const types = new Set<EventType>();
  for (const name of given.split(',').map((each) => each.trim())) {
    const matching = publicEventTypes.filter(
      (type) => type === name || (name.endsWith('.*') && type.startsWith(name.slice(0, -1))),
    );
    for (const type of matching) types.add(type);
    if (matching.length > 0) continue;
    const meant = nearestName(name, publicEventTypes);
    issues.push({
      path: 'types',
      message: `${JSON.stringify(name)} is not an event type`,
      expected: publicEventTypes.join(', '),
      ...(meant === undefined ? {} : { did_you_mean: meant }),
    });
  }
  if (issues.length > 0) {
    throw invalidRequest(
      'The query string is not valid; correct the types named in issues.',
      issues,
    );
  }
  return [...types];
}

/** Its chain's events, or all of the org for admins and auditors; internal ones nobody. */
export function maySee(claims: Principal, { event }: FeedItem): boolean {
  if (event.org_id !== claims.orgId || eventTypes[event.type] !== 'public') return false;
  if (claims.role === 'admin' || claims.role === 'auditor') return true;
  return event.audience.includes(claims.identityId);
}

/** One event as SSE: `id:` is where a reader that comes back goes on. */
export function formatEvent({ position, event }: FeedItem): string {
  const { audience: _audience, ...body } = event;
  return `id: ${position}\nevent: ${event.type}\ndata: ${JSON.stringify(body)}\n\n`;
}

/** `Last-Event-ID`, null when there is none. */
export function parseLastEventId(header: string | string[] | undefined): number | null {
  if (header === undefined || header === '') return null;
  const position = typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : NaN;
  if (Number.isNaN(position)) {
    throw invalidRequest('Last-Event-ID is not one we sent; leave it out to start from now.', [
      { path: 'Last-Event-ID', message: 'must be the id of an event of this stream' },
    ]);
  }
  return position;
}
