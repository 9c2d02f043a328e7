import type { Injection } from '#contracts/permit';
import type { CompiledTemplate } from '#contracts/template';
import type { HttpMethod, Risk } from '#contracts/vocabulary';
import { encodeAsterisks, encodeName, withoutOrg } from '#permission-key';
import { findServedOperations, pathBelow, tokenHostOf } from '#templates';
import type { FoundOperation } from '#templates';
import { argumentsOf } from './deny-arguments.ts';
import type { FitsParam } from './deny-arguments.ts';
import { addressReadingsOf } from './deny-patterns.ts';
import type { DenyName } from './deny-patterns.ts';
import { argumentsOfKey, createValueReader } from './deny-values.ts';
import type { ReadValue } from './deny-values.ts';
import { createNameBudget } from './name-budget.ts';
import type { NameBudget } from './name-budget.ts';
import { operationsFor } from './possible-operations.ts';
import { higherRisk } from './risks.ts';
import type { SentRequest } from './sent-request.ts';

/** A name under which deny rules match a call, with the risk of the operation that it names. */
export interface RatedName extends DenyName {
  readonly risk: Risk;
}

/** A service on the host of the call, or a template whose server is there. */
export interface Neighbour {
  /**
   * All its names: the name of the service, that name without `org/`, and the key of the template.
   */
  readonly names: readonly string[];
  /** The path of its base URL, without a slash at the end. */
  readonly prefix: string;
  readonly template: CompiledTemplate;
  /**
   * Where its operations are on the host of the call, if some have servers of their own; otherwise
   * all are below `prefix`.
   */
  readonly places?: readonly NeighbourPlace[];
  readonly fits: FitsParam;
}

/** A base URL on the host of the call, with the operations that are there. */
export interface NeighbourPlace {
  /** The path of the base URL, without a slash at the end. */
  readonly prefix: string;
  /** The part of the neighbour's template that goes there. */
  readonly template: CompiledTemplate;
}

export function namesOf(service: string, templateKey: string): string[] {
  return [...new Set([service, withoutOrg(service), templateKey])];
}

/**
 * The names of an action call at its own service: the action under each name of the service, with
 * the argument of the call's permission key.
 */
export function listOwnNames(
  services: readonly string[],
  { action, keyArg, risk }: { action: string; keyArg: string | undefined; risk: Risk },
): RatedName[] {
  const args = keyArg === undefined ? undefined : argumentsOfKey(keyArg);
  return listActionNames(services, { action, args, risk });
}

/** The names of an action call with the arguments that its values stand for. */
export function listActionNames(
  services: readonly string[],
  { action, args, risk }: { action: string; args: readonly string[] | undefined; risk: Risk },
): RatedName[] {
  return services.map((service) => ({
    service: encodeName(service),
    action: encodeName(action),
    args,
    risk,
  }));
}

/**
 * The names of a request as an operation of the services and templates on its host (neighbours).
 * Each neighbour contributes the operations with the request's method and path. Unless a trusted
 * template lists the request, or if the budget is used up, the neighbour also contributes any
 * operation that the request could be.
 */
export function neighbourNames(
  neighbours: readonly Neighbour[],
  request: SentRequest,
  { risk, budget = createNameBudget() }: { risk: Risk; budget?: NameBudget },
): RatedName[] {
  const namesOfNeighbours = neighbours.map((neighbour) =>
    findOperationsAt(neighbour, request, budget),
  );
  const isListed = namesOfNeighbours.some(
    ({ neighbour, listed }) => isTrusted(neighbour.template) && listed.length > 0,
  );
  const isCarrier = namesOfNeighbours.some(
    ({ carries, elsewhere }) => carries || (!isListed && elsewhere.some(isMultiplex)),
  );
  const isKnown = isListed && !isCarrier;
  const readValue = createValueReader(budget);
  return namesOfNeighbours.flatMap((each) =>
    toRatedNames(each, { request, risk, isKnown, isCarrier, budget, readValue }),
  );
}

/**
 * Whether the template is built in or published by an admin. Other templates may be wrong on
 * purpose: a member's own template must not make a deny rule match less.
 */
export function isTrusted({ tier }: Pick<CompiledTemplate, 'tier'>): boolean {
  return tier !== 'user';
}

interface FoundOperations {
  readonly neighbour: Neighbour;
  /** Whether the request is below the neighbour's base URL. */
  readonly isBelow: boolean;
  readonly listed: readonly FoundOperation[];
  readonly alike: readonly FoundOperation[];
  /**
   * The operations that have this path and another method, when none with the request's method is
   * listed.
   */
  readonly elsewhere: readonly FoundOperation[];
  /** Whether the request may carry other operations in its body, as GraphQL and batches do. */
  readonly carries: boolean;
  /**
   * Whether the budget was used up before the request could be compared with the operations of this
   * other service on its host.
   */
  readonly isUnread: boolean;
}

function findOperationsAt(
  neighbour: Neighbour,
  request: SentRequest,
  budget: NameBudget,
): FoundOperations {
  const { template, prefix: ownPrefix } = neighbour;
  const places = neighbour.places ?? [{ prefix: ownPrefix, template }];
  const placesBelow = places.flatMap(({ prefix, template: part }) => {
    const matchBelow = pathBelow(prefix, request.path);
    return matchBelow === undefined ? [] : [{ ...matchBelow, part }];
  });
  const emptyResult = {
    neighbour,
    isBelow: placesBelow.length > 0,
    carries: false,
    isUnread: false,
    listed: [],
    alike: [],
    elsewhere: [],
  };
  if (template.runtime === 'mcp') {
    budget.left -= request.path.length;
    const mayCarryOthers =
      request.tool !== undefined || budget.left < 0 || isAtEndpoint(neighbour, request);
    return { ...emptyResult, carries: mayCarryOthers };
  }
  const found: Pick<FoundOperations, 'listed' | 'alike' | 'elsewhere'>[] = [];
  for (const { path, isExact, part } of placesBelow) {
    const served = findServedOperations(part, { method: request.method, path }, budget);
    if (served === undefined) {
      const mayCarryOthers = operationsFor(template, request.method, budget).mayCarry;
      return { ...emptyResult, carries: mayCarryOthers, isUnread: true };
    }
    const { listed, alike, elsewhere } = served;
    found.push(isExact ? served : { listed: [], alike: [...listed, ...alike], elsewhere });
  }
  const listed = found.flatMap((each) => each.listed);
  const alike = found.flatMap((each) => each.alike);
  return {
    ...emptyResult,
    listed,
    alike,
    // Where one of the places lists the method, servers do not treat it as another one.
    elsewhere: listed.length > 0 ? [] : found.flatMap((each) => each.elsewhere),
    carries: [...listed, ...alike].some(isMultiplex),
  };
}

function isMultiplex({ action }: FoundOperation): boolean {
  return action.multiplex === true;
}

/**
 * Whether the request goes to the address at which an MCP server takes its messages, however the
 * path is written.
 */
function isAtEndpoint({ template, prefix }: Neighbour, { path }: SentRequest): boolean {
  const toPlainText = (text: string) =>
    text
      .replaceAll(/;[^/]*/g, '')
      .split('/')
      .filter((segment) => segment !== '')
      .join('/')
      .toLowerCase();
  return toPlainText(path) === toPlainText(prefix + (template.mcp?.path ?? ''));
}

interface NamingContext {
  readonly request: SentRequest;
  readonly risk: Risk;
  readonly isKnown: boolean;
  readonly isCarrier: boolean;
  readonly budget: NameBudget;
  readonly readValue: ReadValue;
}

type NamedOperation = Pick<RatedName, 'action' | 'args' | 'risk'>;

function toRatedNames(foundOperations: FoundOperations, namingContext: NamingContext): RatedName[] {
  const { names, template } = foundOperations.neighbour;
  const operations =
    template.runtime === 'mcp'
      ? toToolNames(foundOperations, namingContext)
      : toNamedOperations(foundOperations, namingContext);
  return names.flatMap((service) =>
    operations.map((operation) => ({ service: encodeName(service), ...operation })),
  );
}

function toNamedOperations(
  foundOperations: FoundOperations,
  namingContext: NamingContext,
): NamedOperation[] {
  const { neighbour, listed, alike, carries, isUnread } = foundOperations;
  const { risk, isKnown, isCarrier, budget } = namingContext;
  // A request that no template lists may be any operation, and operations with a similar path count
  // too.
  const isUnknownRequest = isUnread || (isCarrier ? !carries : listed.length === 0 && !isKnown);
  const operations = listed.length > 0 || !isUnknownRequest ? [...listed, ...alike] : [];
  const listedActions = new Set(listed.map(({ action }) => action));
  const namedOperations: NamedOperation[] = [];
  for (const [index, operation] of operations.entries()) {
    budget.left -= stepsPerOperation;
    if (budget.left < 0) return toUnknownOperations(foundOperations, namingContext);
    namedOperations.push({
      action: encodeName(operation.action.key),
      args: argumentsOf(operation, {
        ...namingContext,
        fits: neighbour.fits,
        isOtherReading: index >= listed.length && listedActions.has(operation.action),
      }),
      risk: higherRisk(risk, operation.action.risk),
    });
  }
  return isUnknownRequest
    ? [...namedOperations, ...toUnknownOperations(foundOperations, namingContext)]
    : namedOperations;
}

const stepsPerOperation = 100;

/**
 * A name for an unknown operation: any operation with the request's method or path. A request that
 * may carry other operations, or a POST, which batches and GraphQL use, may be any operation at
 * all. Operations with a higher risk are named separately, with their risk.
 */
function toUnknownOperations(
  { neighbour: { template }, isBelow, elsewhere }: FoundOperations,
  { request, risk, isCarrier, budget }: NamingContext,
): NamedOperation[] {
  const isAny = isCarrier || request.method === 'POST';
  const { unknownAction: unknown, byRisk } = operationsFor(
    template,
    isAny ? null : request.method,
    budget,
  );
  const riskierOperations = byRisk.filter(
    (each) => isBelow && higherRisk(risk, each.risk) !== risk,
  );
  const atSamePath = elsewhere.map(({ action }) => ({
    action: encodeName(action.key),
    args: undefined,
    risk: higherRisk(risk, action.risk),
  }));
  return [{ action: unknown, args: undefined, risk }, ...riskierOperations, ...atSamePath];
}

/**
 * The tools that a request to an MCP server may call. All tools share one address. Policy's own
 * tool calls name their tool; any other request names its tool only in the body, which policy does
 * not read.
 */
function toToolNames(
  { neighbour: { template, fits }, carries }: FoundOperations,
  namingContext: NamingContext,
): NamedOperation[] {
  const { request, risk, isKnown, budget } = namingContext;
  const { tool } = request;
  if (tool === undefined) {
    if (isKnown && !carries) return [];
    // The request may call any tool, including tools that no template lists.
    const highestRisk = ['GET', 'HEAD', 'OPTIONS'].includes(request.method) ? risk : 'delete';
    const { unknownAction: unknown } = operationsFor(template, request.method, budget);
    return [{ action: unknown, args: undefined, risk: highestRisk }];
  }
  const action = Object.hasOwn(template.actions, tool) ? template.actions[tool] : undefined;
  if (action === undefined) return [{ action: encodeName(tool), args: undefined, risk }];
  const args = argumentsOf({ action, pathValues: {} }, { ...namingContext, fits });
  return [{ action: encodeName(tool), args, risk: higherRisk(risk, action.risk) }];
}

type Credential = Pick<Injection, 'kind' | 'credentialName' | 'derivation'>;

/** The names under which deny rules match an action call by its address or its credentials. */
export function listAddressNames(
  { method, host, path, risk }: { method: HttpMethod; host: string; path: string; risk: Risk },
  credentials: readonly Credential[],
): RatedName[] {
  // An argument may contain an encoded slash, which some servers decode.
  const paths = [path, path.replaceAll(/%2F/gi, '/')];
  const args = [...new Set(paths.flatMap(addressReadingsOf))].map((each) =>
    encodeAsterisks(`${host}${each}`),
  );
  return [
    { service: 'http', action: method, args, risk, needs: 'host' },
    ...listCredentialNames(credentials, { host, risk }),
  ];
}

/**
 * The permission keys of the credentials that an action call uses, each with and without `org/`. A
 * credential that is derived from a secret also takes the secret to the host of its tokens.
 */
export function listCredentialNames(
  credentials: readonly Credential[],
  { host, risk }: { host: string; risk: Risk },
): RatedName[] {
  return credentials.flatMap((credential) =>
    spellingsOf(credential).map((name) => ({
      service: credential.kind,
      action: encodeName(name),
      args: [host, ...tokenHostsOf(credential)],
      risk,
      needs: 'credential' as const,
    })),
  );
}

/**
 * Further permission keys that deny rules are compared with, for a call by HTTP method and path or
 * full URL: the key of an org's credential without `org/`, and the keys of the hosts that issue
 * tokens.
 */
export function listAliasKeys(
  credentials: readonly Credential[],
  { host, risk }: { host: string; risk: Risk },
): RatedName[] {
  return credentials.flatMap((credential) =>
    spellingsOf(credential).flatMap((name) => {
      const isOwn = name === credential.credentialName;
      const args = [...(isOwn ? [] : [host]), ...tokenHostsOf(credential)];
      return args.length === 0
        ? []
        : [{ service: credential.kind, action: encodeName(name), args, risk }];
    }),
  );
}

function spellingsOf({ credentialName }: Credential): string[] {
  return [...new Set([credentialName, withoutOrg(credentialName)])];
}

function tokenHostsOf({ derivation }: Credential): string[] {
  return [tokenHostOf(derivation) ?? []].flat();
}
