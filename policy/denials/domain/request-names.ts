import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { HttpMethod, Risk } from '#contracts/vocabulary';
import { encodeName } from '#permission-key';
import {
  findPossibleOperations,
  findServedOperations,
  isNarrowerPath,
  isPlainPath,
  isSameMethod,
  partWith,
  pathBelow,
} from '#templates';
import type { PathBudget } from '#templates';
import type { RatedName } from './deny-names.ts';
import type { NeighbourPlace } from './places-on-host.ts';
import { higherRisk } from './risks.ts';

/** A request as it will reach its host. */
export interface SentRequest {
  readonly method: HttpMethod;
  /** The normalised path from the root of the host. */
  readonly path: string;
  /** The called tool. Set only for calls of an action of an MCP server. */
  readonly tool?: string | undefined;
}

/** A service on the host of the call, or a template that is not connected and may be there. */
export interface Neighbour {
  /**
   * All names of the service: its own name, that name without `org/`, and the key of the template.
   */
  readonly names: readonly string[];
  readonly isConnected: boolean;
  readonly template: CompiledTemplate;
  /** Where its operations are on the host. Empty when no place is known. */
  readonly places: readonly NeighbourPlace[];
}

/** The most steps, of about 10 ns each, for looking up a request in all templates. */
const lookUpStepsMax = 1_000_000;

export function createLookUpBudget(): PathBudget {
  return { left: lookUpStepsMax };
}

/**
 * The names of a request in the services and templates on its host
 * (docs/reference/permissions.md#what-a-deny-reaches). If the path is in plain form and a trusted
 * template lists the request, these are the listed operations. Otherwise the request may be any
 * operation of each service and template. The arguments are never read.
 */
export function listRequestNames(
  neighbours: readonly Neighbour[],
  request: SentRequest,
  { risk, budget = createLookUpBudget() }: { risk: Risk; budget?: PathBudget },
): RatedName[] {
  if (request.tool !== undefined) return listToolNames(neighbours, request.tool, risk);
  const listings = neighbours.map((neighbour) => findListing(neighbour, request, budget));
  const isCarrier = listings.some(({ carriesOthers }) => carriesOthers);
  const isKnown =
    !isCarrier &&
    listings.some(({ neighbour, operations }) => isTrusted(neighbour) && operations.length > 0);
  return listings.flatMap(({ neighbour, operations }): RatedName[] => {
    const listedNames = operations.flatMap((operation) =>
      neighbour.names.map((service) => ({
        service: encodeName(service),
        action: encodeName(operation.key),
        args: undefined,
        risk: higherRisk(risk, operation.risk),
        operation: neighbour.isConnected ? ('connected' as const) : ('not_connected' as const),
      })),
    );
    if (isKnown) return listedNames;
    const isAnyMethod = isCarrier || request.method === 'POST';
    const unknownRisk = highestRiskOf(neighbour.template, isAnyMethod ? null : request.method);
    return neighbour.names.map((service) => ({
      service: encodeName(service),
      action: undefined,
      args: undefined,
      risk: higherRisk(risk, unknownRisk),
    }));
  });
}

/**
 * The names of other actions of the template whose path the parameter values of an action call
 * produce, in any letter case: `users.get` with the value `me` is `users.me`. Actions that share
 * one path are told apart by the body, as in GraphQL, so they do not count. A path parameter that
 * may contain slashes could match nearly every path, so an action with such a parameter counts only
 * if its path is narrower.
 */
export function listShadowedNames(
  services: readonly string[],
  template: CompiledTemplate,
  { action, path, risk }: { action: CompiledAction; path: string; risk: Risk },
): RatedName[] {
  const request = { method: action.method, path };
  const ownPath = withoutLastSlash(action.path);
  const holdsSlashes = ({ params }: CompiledAction) =>
    params.some((param) => param.in === 'path' && param.allowReserved);
  const operations = (findServedOperations(partWith(template, action), request) ?? [])
    .map((each) => each.action)
    .filter((each) => withoutLastSlash(each.path) !== ownPath)
    .filter((each) => !holdsSlashes(each) || isNarrowerPath(each, action));
  return operations.flatMap((operation) =>
    services.map((service) => ({
      service: encodeName(service),
      action: encodeName(operation.key),
      args: undefined,
      risk: higherRisk(risk, operation.risk),
    })),
  );
}

/** A name that stands for all services on the host that were not compared. */
export function toAnyServiceName(risk: Risk): RatedName {
  return { service: undefined, action: undefined, args: undefined, risk };
}

/**
 * Whether the template is built in or published by an admin. Other templates may be wrong on
 * purpose: a member's own template must not make a deny rule match less.
 */
function isTrusted({ template: { tier } }: Neighbour): boolean {
  return tier !== 'user';
}

/** The called tool, under each name of the MCP servers on the host. */
function listToolNames(neighbours: readonly Neighbour[], tool: string, risk: Risk): RatedName[] {
  return neighbours
    .filter(({ template }) => template.runtime === 'mcp')
    .flatMap(({ names, template }) => {
      const action = Object.hasOwn(template.actions, tool) ? template.actions[tool] : undefined;
      return names.map((service) => ({
        service: encodeName(service),
        action: encodeName(tool),
        args: undefined,
        risk: higherRisk(risk, action?.risk ?? risk),
      }));
    });
}

interface Listing {
  readonly neighbour: Neighbour;
  readonly operations: readonly { readonly key: string; readonly risk: Risk }[];
  /**
   * Whether the request may be, or may contain, any other operation, as with GraphQL, batches and
   * MCP.
   */
  readonly carriesOthers: boolean;
}

function findListing(neighbour: Neighbour, request: SentRequest, budget: PathBudget): Listing {
  const { template, places } = neighbour;
  const unlisted = { neighbour, operations: [], carriesOthers: false };
  if (!isPlainPath(request.path)) return unlisted;
  const pathsBelow = places.flatMap(({ prefix, template: part }) => {
    const path = pathBelow(prefix, request.path);
    return path === undefined ? [] : [{ path, part }];
  });
  if (template.runtime === 'mcp') {
    const endpoint = withoutLastSlash((template.mcp?.path ?? '').toLowerCase());
    const isEndpoint = pathsBelow.some(
      ({ path }) => withoutLastSlash(path.toLowerCase()) === endpoint,
    );
    return { ...unlisted, carriesOthers: isEndpoint };
  }
  const found = pathsBelow.map(({ path, part }) =>
    findPossibleOperations(part, { method: request.method, path }, budget),
  );
  const operations = found.flatMap((each) => each ?? []).map(({ action }) => action);
  // If the budget did not suffice for the look-up, the request may be any operation too.
  const isSearchIncomplete = found.includes(undefined);
  const carriesOthers =
    isSearchIncomplete || operations.some(({ multiplex }) => multiplex === true);
  return { neighbour, operations, carriesOthers };
}

function withoutLastSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/** Computed once for each template and method. */
const knownRisks = new WeakMap<CompiledTemplate, Map<HttpMethod | null, Risk>>();

/** The highest risk of the operations with this method. Null means any method. */
function highestRiskOf(template: CompiledTemplate, method: HttpMethod | null): Risk {
  const risksByMethod = knownRisks.get(template) ?? new Map<HttpMethod | null, Risk>();
  knownRisks.set(template, risksByMethod);
  let highestRisk = risksByMethod.get(method);
  if (highestRisk !== undefined) return highestRisk;
  // An MCP server may have tools that no template lists.
  highestRisk =
    template.runtime === 'mcp' && (method === null || method === 'POST') ? 'delete' : 'read';
  for (const action of Object.values(template.actions)) {
    if (method === null || isSameMethod(action.method, method)) {
      highestRisk = higherRisk(highestRisk, action.risk);
    }
  }
  risksByMethod.set(method, highestRisk);
  return highestRisk;
}
