import type { Pattern } from '#permission-key';
import type { TemplateReference } from '#contracts/call';
import type { DenyNameData } from '#contracts/permit';
import type { Risk } from '#contracts/vocabulary';
import type { PathBudget } from '#templates';
import type { Lookups, Owner } from '../deps.ts';
import { namesOf } from './domain/deny-names.ts';
import type { RatedName } from './domain/deny-names.ts';
import { createServiceTest } from './domain/deny-patterns.ts';
import { placesOnHost } from './domain/places-on-host.ts';
import { listRequestNames, toAnyServiceName } from './domain/request-names.ts';
import type { Neighbour, SentRequest } from './domain/request-names.ts';

/** The input for finding the further names of a request. */
export interface AddressedRequest {
  readonly owner: Owner;
  readonly host: string;
  readonly risk: Risk;
  readonly request: SentRequest;
  /**
   * The template of the called action. Its service is skipped, because the action already has the
   * names of that service.
   */
  readonly ownTemplate?: TemplateReference | undefined;
  /** The budget for looking up requests in templates. Several requests may share it. */
  readonly budget?: PathBudget;
}

/** A service or template on the host of the request, before its template is loaded. */
interface Candidate {
  readonly names: readonly string[];
  readonly template: TemplateReference;
  /**
   * The base URL of the service. Null for a template that is not connected; the server of the
   * template is used then.
   */
  readonly baseUrl: string | null;
}

type Place = Pick<AddressedRequest, 'owner' | 'host'>;

/**
 * Finds the names of a request as an operation of the services and templates on its host. Without
 * deny rules, no other component is asked. Templates are loaded only when a deny rule concerns one
 * of them: then those that deny rules concern, and the trusted ones, which decide which operation
 * the request is.
 */
export async function findOtherNames(
  lookups: Lookups,
  denies: readonly Pattern[],
  { owner, host, risk, request, ownTemplate, budget }: AddressedRequest,
): Promise<RatedName[]> {
  if (denies.length === 0) return [];
  const { neighbours, isCut } = await loadNeighbours(lookups, denies, { owner, host, ownTemplate });
  const names = listRequestNames(neighbours, request, { risk, ...(budget && { budget }) });
  return isCut ? [toAnyServiceName(risk), ...names] : names;
}

/** Loads services and templates on the host, if one of these deny rules concerns any of them. */
async function loadNeighbours(
  lookups: Lookups,
  denies: readonly Pattern[],
  { owner, host, ownTemplate }: Pick<AddressedRequest, 'owner' | 'host' | 'ownTemplate'>,
): Promise<{ neighbours: readonly Neighbour[]; isCut: boolean }> {
  const found = await findCandidates(lookups, { owner, host });
  const candidates = found.candidates.filter(
    ({ template }) => !isSameTemplate(template, ownTemplate),
  );
  const namesService = createServiceTest(denies);
  const isConcerned = ({ names }: Candidate) => names.some(namesService);
  const wantedCandidates = candidates.some(isConcerned)
    ? candidates.filter((each) => isConcerned(each) || each.template.tier !== 'user')
    : [];
  const neighbours = await Promise.all(
    wantedCandidates.map(async ({ names, template: reference, baseUrl }): Promise<Neighbour> => {
      const template = await lookups.getUncheckedTemplate(owner.orgId, reference);
      const places = placesOnHost(template, { host, baseUrl });
      return { names, isConnected: baseUrl !== null, template, places };
    }),
  );
  return { neighbours, isCut: found.isCut };
}

function isSameTemplate(one: TemplateReference, other: TemplateReference | undefined): boolean {
  return one.key === other?.key && one.tier === other.tier && one.ownerId === other.ownerId;
}

/** Every name of every service and template on the host. */
export async function namesOnHost(lookups: Lookups, place: Place): Promise<readonly string[]> {
  const { candidates } = await findCandidates(lookups, place);
  return candidates.flatMap(({ names }) => names);
}

/**
 * The part of the request that a permission gap stores. With it, deny rules that are made later are
 * also compared with the request.
 */
export function rememberRequest({ method, path, tool }: SentRequest): DenyNameData {
  return { method, path, ...(tool === undefined ? {} : { tool }), known: [] };
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
