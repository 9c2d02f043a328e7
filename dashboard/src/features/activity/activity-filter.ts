import type { AuditOutcome } from '#contracts/audit';
import { eventTypes } from '#contracts/event-types';
import type { EventType } from '#contracts/event-types';
import type { Risk } from '#contracts/vocabulary';

/** Which records the activity page shows. All of it is also in the address of the page. */
export interface ActivityFilter {
  readonly q: string;
  /** The id of one agent or person. */
  readonly agent: string;
  /** The id of a person. The filter matches this person and all of their agents. */
  readonly user_id: string;
  readonly type: EventType | '';
  readonly service: string;
  readonly outcome: AuditOutcome | '';
  readonly risk: Risk | '';
  /** The number of days. Empty: all records, however old. */
  readonly days: string;
}

type Search = Readonly<Record<string, string | string[] | undefined>>;

export const outcomeChoices = [
  ['', 'Any outcome'],
  ['called', 'Done'],
  ['pending_approval', 'Asked a person'],
  ['denied', 'Denied'],
  ['refused', 'Refused'],
  ['failed', 'Failed'],
  ['outcome_unknown', 'Outcome unknown'],
] as const;

export const riskChoices = [
  ['', 'Any risk'],
  ['delete', 'High risk'],
  ['write', 'Medium risk'],
  ['read', 'Low risk'],
] as const;

export const daysChoices = [
  ['', 'Any time'],
  ['1', 'Last 24 hours'],
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
] as const;

/** Every type of record, with a label such as `Rule created`. */
export const typeChoices: readonly (readonly [EventType | '', string])[] = [
  ['', 'Anything'],
  ...(Object.keys(eventTypes) as EventType[])
    .map((type) => [type, wordsOfType(type)] as const)
    .toSorted(([, one], [, other]) => one.localeCompare(other)),
];

function wordsOfType(type: string): string {
  const words = type.replaceAll(/[._]/g, ' ').replace('oauth', 'OAuth').replace('mcp', 'MCP');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** The API refuses longer texts. */
const textMax = 200;
const serviceMax = 100;
const dayMs = 24 * 60 * 60_000;

/**
 * Reads the search part of an address. It may contain anything, because anybody can write a link.
 */
export function readActivityFilter(search: Search): ActivityFilter {
  const read = (name: string, max: number) => {
    const value = search[name];
    return typeof value === 'string' ? value.replaceAll('\0', '').slice(0, max) : '';
  };
  const choose = <Value extends string>(
    name: string,
    choices: readonly (readonly [Value, string])[],
  ) => choices.find(([value]) => value === read(name, 60))?.[0] ?? choices[0]?.[0];
  const readId = (name: string) => {
    const id = read(name, 36);
    return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id) ? id : '';
  };
  return {
    q: read('q', textMax),
    agent: readId('agent'),
    user_id: readId('user_id'),
    type: choose('type', typeChoices) ?? '',
    service: read('service', serviceMax),
    outcome: choose('outcome', outcomeChoices) ?? '',
    risk: choose('risk', riskChoices) ?? '',
    days: choose('days', daysChoices) ?? '',
  };
}

/** The search part of the page's address, with its `?`. Empty if no filter is set. */
export function toActivitySearch({ q, ...filter }: ActivityFilter): string {
  return toQuery({ q: q.trim(), ...filter });
}

/** The query of `GET /v1/audit`. */
export function toAuditQuery(
  { q, agent, days, ...filter }: ActivityFilter,
  { cursor, nowMs }: { cursor: string | null; nowMs: number },
): string {
  return toQuery({
    text: q.trim(),
    identity_id: agent,
    ...filter,
    since: days === '' ? '' : new Date(nowMs - Number(days) * dayMs).toISOString(),
    limit: '100',
    cursor: cursor ?? '',
  });
}

function toQuery(values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ''));
  return query.size === 0 ? '' : `?${query.toString()}`;
}
