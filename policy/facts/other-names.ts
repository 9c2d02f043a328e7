import type { TemplateReference } from '#contracts/call';
import type { OtherNames } from '#contracts/permit';
import type { Risk } from '#contracts/vocabulary';
import { namesOf, neighbourNames } from '../domain/deny-names.ts';
import type { RatedName, SentRequest } from '../domain/deny-names.ts';
import { parseBaseUrl } from '../domain/hosts.ts';
import { concernsService } from '../domain/patterns.ts';
import type { Standings } from '../domain/rules.ts';
import type { Lookups, Owner } from '../lookups/lookups.ts';

/** What a request's other names depend on. */
export interface AddressedRequest {
  readonly owner: Owner;
  readonly host: string;
  readonly risk: Risk;
  readonly request: SentRequest;
}

/** A service or template on the host, not yet loaded. */
interface Candidate {
  readonly names: readonly string[];
  readonly template: TemplateReference;
  /** Null for a template that is not connected: its own server says. */
  readonly baseUrl: string | null;
}

/** Services and templates that a gap's names are looked up in at most. */
const REMEMBERED_MAX = 40;

/**
 * The names that deny rules may call this request by because of where it goes (decisions: The
 * walk, 1). Asks nobody where there is no deny rule, and loads no template that none concerns.
 */
export async function findOtherNames(
  lookups: Lookups,
  standings: Standings,
  addressed: AddressedRequest,
): Promise<RatedName[]> {
  const rules = [...standings.values()].flatMap((standing) => standing.rules);
  const denies = [
    ...new Set(rules.filter(({ effect }) => effect === 'deny').map(({ pattern }) => pattern)),
  ];
  if (denies.length === 0) return [];
  const candidates = await findCandidates(lookups, addressed);
  const concerned = candidates.filter(({ names }) =>
    names.some((name) => denies.some((pattern) => concernsService(pattern, name))),
  );
  return nameAll(lookups, concerned, addressed);
}

/** What a gap keeps, so that deny rules made later are checked against the whole request. */
export async function rememberOtherNames(
  lookups: Lookups,
  addressed: AddressedRequest & { readonly method: OtherNames['method'] },
): Promise<OtherNames> {
  const candidates = await findCandidates(lookups, addressed);
  const names = await nameAll(lookups, candidates.slice(0, REMEMBERED_MAX), addressed);
  const known = names.flatMap(({ service, action, arg }) =>
    typeof action === 'string' && arg !== undefined ? [{ service, action, arg }] : [],
  );
  const { path, tool } = addressed.request;
  const { method } = addressed;
  return { method, path, ...(tool === undefined ? {} : { tool }), known: known.slice(0, 50) };
}

/** Fills in arguments that were known when the gap was signed. */
export function recallArguments(names: readonly RatedName[], known: OtherNames['known']) {
  return names.map((name) => {
    if (name.arg !== undefined) return name;
    const same = known.find(
      ({ service, action }) => service === name.service && action === name.action,
    );
    return same === undefined ? name : { ...name, arg: same.arg };
  });
}

async function findCandidates(
  lookups: Lookups,
  { owner, host }: AddressedRequest,
): Promise<Candidate[]> {
  const { services, templates } = await lookups.findByHost(owner, host);
  return [
    ...services.map((service) => ({
      names: namesOf(service.name, service.template.key),
      template: service.template,
      baseUrl: service.baseUrl,
    })),
    ...templates.map((template) => ({ names: [template.key], template, baseUrl: null })),
  ];
}

async function nameAll(
  lookups: Lookups,
  candidates: readonly Candidate[],
  { owner, request, risk }: AddressedRequest,
): Promise<RatedName[]> {
  const named = await Promise.all(
    candidates.map(async ({ names, template: reference, baseUrl }) => {
      const template = await lookups.getTemplate(owner.orgId, reference);
      const address = baseUrl ?? template.server?.url.replaceAll(/\{[^{}]*\}/g, 'x');
      if (address === undefined) return [];
      return neighbourNames(
        { names, prefix: parseBaseUrl(address).prefix, template },
        request,
        risk,
      );
    }),
  );
  return named.flat();
}
