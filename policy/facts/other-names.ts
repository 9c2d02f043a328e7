import { setImmediate } from 'node:timers/promises';

import type { TemplateReference } from '#contracts/call';
import type { OtherNames } from '#contracts/permit';
import type { Risk } from '#contracts/vocabulary';
import type { Pattern } from '#permission-key';
import { isTrusted, namesOf, neighbourNames } from '../domain/deny-names.ts';
import type { Neighbour, RatedName, SentRequest } from '../domain/deny-names.ts';
import type { NameBudget } from '../domain/name-budget.ts';
import { serviceTest } from '../domain/deny-patterns.ts';
import { parseBaseUrl } from '../domain/hosts.ts';
import type { Standings } from '../domain/rules.ts';
import type { CheckBudget } from '../domain/validate-params.ts';
import type { Lookups, Owner } from '../lookups/lookups.ts';

/** What a request's other names depend on. */
export interface AddressedRequest {
  readonly owner: Owner;
  readonly host: string;
  readonly risk: Risk;
  readonly request: SentRequest;
  readonly budget: NameBudget;
}

/** A service or template on the host, not yet loaded. */
interface Candidate {
  readonly names: readonly string[];
  readonly template: TemplateReference;
  /** Null for a template that is not connected: its own server says. */
  readonly baseUrl: string | null;
}

/** Services and templates that a gap's names are looked up in at most. */
const rememberedMax = 40;
/** What a gap may hold of them: their arguments can be long. */
const rememberedCharactersMax = 16_000;

/** Patterns of every deny rule that is met. */
export function deniesIn(standings: Standings): readonly Pattern[] {
  const denies = new Set<Pattern>();
  for (const { rules } of standings.values()) {
    for (const { effect, pattern } of rules) if (effect === 'deny') denies.add(pattern);
  }
  return [...denies];
}

/**
 * The names that deny rules may call this request by because of where it goes. Asks nobody where
 * there is no deny rule, and loads no template that none concerns, but for those that say what the
 * request is.
 */
export async function findOtherNames(
  lookups: Lookups,
  denies: readonly Pattern[],
  addressed: AddressedRequest,
): Promise<RatedName[]> {
  if (denies.length === 0) return [];
  const { neighbours, isCut } = await loadNeighbours(lookups, denies, addressed);
  const names = neighbourNames(neighbours, addressed.request, addressed);
  // Finding them may take a while, and comparing them another.
  if (neighbours.length > 0) await setImmediate();
  return isCut ? [anyService(addressed.risk), ...names] : names;
}

type Place = Pick<AddressedRequest, 'owner' | 'host'>;

/** What is on the host, if one of these denies concerns any of it. */
export async function loadNeighbours(
  lookups: Lookups,
  denies: readonly Pattern[],
  { owner, host, budget: { checks } }: Pick<AddressedRequest, 'owner' | 'host' | 'budget'>,
): Promise<{ neighbours: readonly Neighbour[]; isCut: boolean }> {
  const { candidates, isCut } = await findCandidates(lookups, { owner, host });
  const isDenied = serviceTest(denies);
  const isConcerned = ({ names }: Candidate) => names.some(isDenied);
  const wanted = candidates.some(isConcerned)
    ? candidates.filter((each) => isConcerned(each) || isTrusted(each.template))
    : [];
  return { neighbours: await loadAll(lookups, wanted, { owner, checks }), isCut };
}

/** Every name that something on the host goes by. */
export async function namesOnHost(lookups: Lookups, at: Place): Promise<readonly string[]> {
  const { candidates } = await findCandidates(lookups, at);
  return candidates.flatMap(({ names }) => names);
}

/** What a gap keeps, so that deny rules made later are checked against the whole request. */
export async function rememberOtherNames(
  lookups: Lookups,
  addressed: AddressedRequest & { readonly method: OtherNames['method'] },
): Promise<OtherNames> {
  const { candidates } = await findCandidates(lookups, addressed);
  const { owner, request, method, budget } = addressed;
  const neighbours = await loadAll(lookups, candidates.slice(0, rememberedMax), {
    owner,
    checks: budget.checks,
  });
  const names = neighbourNames(neighbours, addressed.request, addressed);
  const { path, tool } = request;
  return { method, path, ...(tool === undefined ? {} : { tool }), known: knownIn(names) };
}

/** Of each name all arguments or none: what is not remembered is unknown again. */
function knownIn(names: readonly RatedName[]): OtherNames['known'] {
  const known: OtherNames['known'] = [];
  let left = rememberedCharactersMax;
  for (const { service, action, args } of names) {
    if (typeof action !== 'string' || service === undefined || args === undefined) continue;
    const size = args.reduce((sum, arg) => sum + arg.length + service.length + action.length, 0);
    if (size > left || known.length + args.length > knownMax) continue;
    left -= size;
    known.push(...args.map((arg) => ({ service, action, arg })));
  }
  return known;
}

const knownMax = 200;

/** Fills in arguments that were known when the gap was signed. */
export function recallArguments(
  names: readonly RatedName[],
  known: OtherNames['known'],
): RatedName[] {
  const argsOf = Map.groupBy(known, ({ service, action }) => `${service}:${action}`);
  return names.map((name) => {
    const { service, action, args } = name;
    if (args !== undefined || typeof action !== 'string') return name;
    const found = argsOf.get(`${service}:${action}`);
    return found === undefined ? name : { ...name, args: found.map(({ arg }) => arg) };
  });
}

/** Not everything on the host was looked at: it may be an operation of what was not. */
export function anyService(risk: Risk): RatedName {
  return {
    service: undefined,
    action: { among: new Set(), notAmong: new Set() },
    args: undefined,
    risk,
  };
}

async function findCandidates(
  lookups: Lookups,
  { owner, host }: Place,
): Promise<{ candidates: readonly Candidate[]; isCut: boolean }> {
  const { services, templates, isCut } = await lookups.findByHost(owner, host);
  const candidates = [
    ...services.map((service) => ({
      names: namesOf(service.name, service.template.key),
      template: service.template,
      baseUrl: service.baseUrl,
    })),
    ...templates.map((template) => ({ names: [template.key], template, baseUrl: null })),
  ];
  return { candidates, isCut };
}

async function loadAll(
  lookups: Lookups,
  candidates: readonly Candidate[],
  { owner: { orgId }, checks }: { owner: Owner; checks: CheckBudget },
): Promise<Neighbour[]> {
  const loaded = await Promise.all(
    candidates.map(async ({ names, template: reference, baseUrl }): Promise<Neighbour[]> => {
      const template = await lookups.getUncheckedTemplate(orgId, reference);
      const address = baseUrl ?? template.server?.url.replaceAll(/\{[^{}]*\}/g, 'x');
      if (address === undefined) return [];
      const fits: Neighbour['fits'] = (param, value) => lookups.getParamCheck(param)(value, checks);
      return [{ names, prefix: parseBaseUrl(address).prefix, template, fits }];
    }),
  );
  return loaded.flat();
}
