import { eventTypes, publicEventTypes } from '#contracts/events';
import type { EventType, FeedItem } from '#contracts/events';
import type { Principal } from '#contracts/vocabulary';
import { nearestName } from '#errors';
import { invalidRequest } from '../../input/domain/validate.ts';
import type { Issue } from '../../input/domain/validate.ts';

/** Parses `types=approval.raised,execution.*` into public event types; null means all types. */
export function parseEventTypes(eventsParameter: string | undefined): EventType[] | null {
  if (eventsParameter === undefined || eventsParameter.trim() === '') return null;
  const issues: Issue[] = [];
  const types = new Set<EventType>();
  for (const name of eventsParameter.split(',').map((each) => each.trim())) {
    const matchingTypes = publicEventTypes.filter(
      (type) => type === name || (name.endsWith('.*') && type.startsWith(name.slice(0, -1))),
    );
    for (const type of matchingTypes) types.add(type);
    if (matchingTypes.length > 0) continue;
    const nearestEvent = nearestName(name, publicEventTypes);
    issues.push({
      path: 'types',
      message: `${JSON.stringify(name)} is not an event type`,
      expected: publicEventTypes.join(', '),
      ...(nearestEvent === undefined ? {} : { did_you_mean: nearestEvent }),
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

/**
 * Whether the caller may see an event. Admins and auditors see all public events of their org.
 * Other callers see the public events of their chain. Nobody sees internal events.
 */
export function maySeeEvent(claims: Principal, { event }: FeedItem): boolean {
  if (event.org_id !== claims.orgId || eventTypes[event.type] !== 'public') return false;
  if (claims.role === 'admin' || claims.role === 'auditor') return true;
  return event.audience.includes(claims.identityId);
}

/**
 * Formats an event for SSE. A client that reconnects sends the `id:` of the last event that it
 * received.
 */
export function formatEvent({ position, event }: FeedItem): string {
  const { audience: _audience, ...body } = event;
  return `id: ${position}\nevent: ${event.type}\ndata: ${JSON.stringify(body)}\n\n`;
}

/** Parses the header `Last-Event-ID`; returns null if it is absent. */
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
