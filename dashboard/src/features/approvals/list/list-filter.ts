import type { ApprovalResponse } from '#contracts/http/approvals';

/**
 * Which approvals the list shows, and in which order. All of it is also in the address of the page.
 */
export interface ListFilter {
  readonly isDecided: boolean;
  readonly q: string;
  readonly requester: string;
  readonly service: string;
  readonly risk: ApprovalResponse['risk'] | '';
  readonly sort: 'newest' | 'oldest';
}

type Search = Readonly<Record<string, string | string[] | undefined>>;

const risks: readonly string[] = ['low', 'med', 'high'];
/** The API refuses longer texts. */
const textMax = 200;
const serviceMax = 67;

/**
 * Open approvals: those that have waited longest come first. Decided ones: the latest decision
 * first.
 */
const defaultSortOf = (isDecided: boolean) => (isDecided ? 'newest' : 'oldest');

/**
 * Reads the search part of an address. It may contain anything, because anybody can write a link.
 */
export function readFilter(search: Search): ListFilter {
  const read = (name: string, max: number) => {
    const value = search[name];
    return typeof value === 'string' ? value.replaceAll('\0', '').slice(0, max) : '';
  };
  const isDecided = read('show', 10) === 'decided';
  const requester = read('agent', 36);
  const risk = read('risk', 4);
  const sort = read('sort', 6);
  return {
    isDecided,
    q: read('q', textMax),
    requester: /^[\da-f-]{36}$/.test(requester) ? requester : '',
    service: read('service', serviceMax),
    risk: risks.includes(risk) ? (risk as ListFilter['risk']) : '',
    sort: sort === 'newest' || sort === 'oldest' ? sort : defaultSortOf(isDecided),
  };
}

/** The search part of the page's address, with its `?`. Empty for the default list. */
export function toSearch(filter: ListFilter): string {
  const { isDecided, q, requester, service, risk, sort } = filter;
  return toQuery({
    show: isDecided ? 'decided' : '',
    q: q.trim(),
    agent: requester,
    service,
    risk,
    sort: sort === defaultSortOf(isDecided) ? '' : sort,
  });
}

/** The query of `GET /v1/approvals`. */
export function toApiQuery(
  { isDecided, q, requester, service, risk, sort }: ListFilter,
  { assigned, cursor }: { assigned?: 'me' | undefined; cursor?: string | null },
): string {
  return toQuery({
    status: isDecided ? 'decided' : 'open',
    q: q.trim(),
    requester,
    service,
    risk,
    sort,
    assigned: assigned ?? '',
    limit: '50',
    cursor: cursor ?? '',
  });
}

export function isFiltered({ q, requester, service, risk }: ListFilter): boolean {
  return q.trim() !== '' || requester !== '' || service !== '' || risk !== '';
}

function toQuery(values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ''));
  return query.size === 0 ? '' : `?${query.toString()}`;
}
