import { setImmediate } from 'node:timers/promises';

import type { TemplateReference } from '#contracts/call';
import type { DenyNameData } from '#contracts/permit';
import type { Risk } from '#contracts/vocabulary';
import type { Pattern } from '#permission-key';
import type { Lookups, Owner } from '../deps.ts';
import { isTrusted, namesOf, neighbourNames } from './domain/deny-names.ts';
import type { Neighbour, RatedName } from './domain/deny-names.ts';
import { createServiceTest } from './domain/deny-patterns.ts';
import { listPlacesOnHost } from './domain/places-on-host.ts';
import type { NameBudget } from './domain/name-budget.ts';
import type { CheckBudget } from './domain/param-check.ts';
import type { SentRequest } from './domain/sent-request.ts';

/** What finding the further names of a request needs. */
export interface AddressedRequest {
  readonly owner: Owner;
  readonly host: string;
  readonly risk: Risk;
  readonly request: SentRequest;
  readonly budget: NameBudget;
}

/** A service or template on the host of the request, before its template is loaded. */
interface Candidate {
  readonly names: readonly string[];
  readonly template: TemplateReference;
  /**
   * The base URL of the service; null for a template that is not connected, whose own server is
   * used.
   */
  readonly baseUrl: string | null;
}

/** The most services and templates on the host whose names a permission gap keeps. */
const rememberedNeighboursMax = 40;
/** The most characters of names that a permission gap keeps, because arguments can be long. */
const rememberedCharactersMax = 16_000;

/**
 * Finds the names of a request as an operation of the services and templates on its host. Without
 * deny rules it asks no component. It loads templates only when a deny rule concerns one of them,
 * and then loads those that deny rules concern and the trusted ones, which say which operation the
 * request is.
 */
export async function findOtherNames(
  lookups: Lookups,
  denies: readonly Pattern[],
  addressedRequest: AddressedRequest,
): Promise<RatedName[]> {
  if (denies.length === 0) return [];
  const { neighbours, isCut } = await loadNeighbours(lookups, denies, addressedRequest);
  const neighbourNamesFound = neighbourNames(
    neighbours,
    addressedRequest.request,
    addressedRequest,
  );
  // Finding the names and comparing them may each take a while, so other requests run in between.
  if (neighbours.length > 0) await setImmediate();
  return isCut
    ? [toAnyServiceName(addressedRequest.risk), ...neighbourNamesFound]
    : neighbourNamesFound;
}

type Place = Pick<AddressedRequest, 'owner' | 'host'>;

/** Loads services and templates on the host, if one of these deny rules concerns any of them. */
export async function loadNeighbours(
  lookups: Lookups,
  denies: readonly Pattern[],
  {
    owner,
    host,
    budget: { checkBudget: checks },
  }: Pick<AddressedRequest, 'owner' | 'host' | 'budget'>,
): Promise<{ neighbours: readonly Neighbour[]; isCut: boolean }> {
  const { candidates, isCut } = await findCandidates(lookups, { owner, host });
  const namesService = createServiceTest(denies);
  const isConcerned = ({ names }: Candidate) => names.some(namesService);
  const wantedCandidates = candidates.some(isConcerned)
    ? candidates.filter((each) => isConcerned(each) || isTrusted(each.template))
    : [];
  const neighbours = await loadCandidates(lookups, wantedCandidates, { owner, host, checks });
  return { neighbours, isCut };
}

/** Every name of every service and template on the host. */
export async function namesOnHost(lookups: Lookups, place: Place): Promise<readonly string[]> {
  const { candidates } = await findCandidates(lookups, place);
  return candidates.flatMap(({ names }) => names);
}

/**
 * The names that a permission gap keeps. With them, deny rules that are made later are checked
 * against the whole request.
 */
export async function rememberOtherNames(
  lookups: Lookups,
  addressedRequest: AddressedRequest & { readonly method: DenyNameData['method'] },
): Promise<DenyNameData> {
  const { candidates } = await findCandidates(lookups, addressedRequest);
  const { owner, host, request, method, budget } = addressedRequest;
  const neighbours = await loadCandidates(lookups, candidates.slice(0, rememberedNeighboursMax), {
    owner,
    host,
    checks: budget.checkBudget,
  });
  const namesFound = neighbourNames(neighbours, addressedRequest.request, addressedRequest);
  const { path, tool } = request;
  return { method, path, ...(tool === undefined ? {} : { tool }), known: knownNamesIn(namesFound) };
}

/**
 * Keeps either all arguments of a name or none, because at the replay an argument that is missing
 * counts as unknown.
 */
function knownNamesIn(ratedNames: readonly RatedName[]): DenyNameData['known'] {
  const knownNames: DenyNameData['known'] = [];
  let charactersLeft = rememberedCharactersMax;
  for (const { service, action, args } of ratedNames) {
    if (typeof action !== 'string' || service === undefined || args === undefined) continue;
    const size = args.reduce((sum, arg) => sum + arg.length + service.length + action.length, 0);
    if (size > charactersLeft || knownNames.length + args.length > knownNamesMax) continue;
    charactersLeft -= size;
    knownNames.push(...args.map((arg) => ({ service, action, arg })));
  }
  return knownNames;
}

const knownNamesMax = 200;

/**
 * Adds the arguments that were known when the permission gap was signed, and that a replay no
 * longer knows.
 */
export function recallArguments(
  ratedNames: readonly RatedName[],
  knownNames: DenyNameData['known'],
): RatedName[] {
  const argumentsByAction = Map.groupBy(
    knownNames,
    ({ service, action }) => `${service}:${action}`,
  );
  return ratedNames.map((name) => {
    const { service, action, args } = name;
    if (args !== undefined || typeof action !== 'string') return name;
    const argumentsOfAction = argumentsByAction.get(`${service}:${action}`);
    return argumentsOfAction === undefined
      ? name
      : { ...name, args: argumentsOfAction.map(({ arg }) => arg) };
  });
}

/**
 * A name that stands for the services on the host that were not looked at: any operation of any
 * service.
 */
export function toAnyServiceName(risk: Risk): RatedName {
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

async function loadCandidates(
  lookups: Lookups,
  candidates: readonly Candidate[],
  { owner: { orgId }, host, checks }: Place & { checks: CheckBudget },
): Promise<Neighbour[]> {
  const loadedNeighbours = await Promise.all(
    candidates.map(async ({ names, template: reference, baseUrl }): Promise<Neighbour[]> => {
      const template = await lookups.getUncheckedTemplate(orgId, reference);
      const fitsParam: Neighbour['fits'] = (param, value) =>
        lookups.getParamCheck(param)(value, checks);
      return listPlacesOnHost(template, { host, baseUrl }).map((places) => ({
        names,
        prefix: places[0].prefix,
        template,
        places,
        fits: fitsParam,
      }));
    }),
  );
  return loadedNeighbours.flat();
}
