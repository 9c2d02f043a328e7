import type { Injection } from '#contracts/permit';
import type { CompiledParam, CompiledTemplate } from '#contracts/template';
import type { HttpMethod, JsonValue, Risk } from '#contracts/vocabulary';
import { encodeName, withoutOrg } from '#permission-key';
import { findServedOperations, pathBelow } from '#templates';
import type { FoundOperation } from '#templates';
import { argumentsOf } from './deny-arguments.ts';
import { addressReadings } from './deny-patterns.ts';
import type { DenyName } from './deny-patterns.ts';
import { argumentsOfKey, createValueReader } from './deny-values.ts';
import type { ReadValue } from './deny-values.ts';
import { createNameBudget } from './name-budget.ts';
import type { NameBudget } from './name-budget.ts';
import { operationsFor } from './possible-operations.ts';
import { higher } from './risks.ts';
import type { ReadQuery } from './sent-query.ts';

/** A request as it will reach its host, as far as policy knows it. */
export interface SentRequest {
  readonly method: HttpMethod;
  /** Normalised, from the root of the host. */
  readonly path: string;
  /** Undefined at a replay, where only path and method are at hand. */
  readonly query: ReadQuery['query'] | undefined;
  readonly otherQuery?: ReadQuery['otherQuery'];
  /** Undefined too where nobody knows how it will be read. */
  readonly body: JsonValue | undefined;
  /** The tool that a call to an MCP server is for; anything else that reaches one may be for any. */
  readonly tool?: string | undefined;
}

/** A deny name with the risk that its template gives it. */
export interface RatedName extends DenyName {
  readonly risk: Risk;
}

/** A service or template through which the same host can be reached. */
export interface Neighbour {
  /** Every name it goes by: instance name, the same without `org/`, template key. */
  readonly names: readonly string[];
  /** Path of its base URL, without a slash at its end. */
  readonly prefix: string;
  readonly template: CompiledTemplate;
  /** Does the value satisfy the schema of this parameter? No where finding out takes too much. */
  readonly fits: (param: CompiledParam, value: JsonValue) => boolean;
}

export function namesOf(service: string, templateKey: string): string[] {
  return [...new Set([service, withoutOrg(service), templateKey])];
}

/** The names of an action call itself: its service's, all of them, with what its key's argument holds. */
export function ownNames(
  services: readonly string[],
  { action, keyArg, risk }: { action: string; keyArg: string | undefined; risk: Risk },
): RatedName[] {
  const args = keyArg === undefined ? undefined : argumentsOfKey(keyArg);
  return services.map((service) => ({
    service: encodeName(service),
    action: encodeName(action),
    args,
    risk,
  }));
}

/**
 * The names that a request has as an operation of the services and templates on its host: the one
 * found by method and path, and where that is not known to be one of a trusted template, any. A
 * template that the budget is not enough for is one of which it may be any operation.
 */
export function neighbourNames(
  neighbours: readonly Neighbour[],
  request: SentRequest,
  { risk, budget = createNameBudget() }: { risk: Risk; budget?: NameBudget },
): RatedName[] {
  const found = neighbours.map((neighbour) => findIn(neighbour, request, budget));
  const isListed = found.some(
    ({ neighbour, listed }) => isTrusted(neighbour.template) && listed.length > 0,
  );
  const isCarrier = found.some(
    ({ carries, elsewhere }) => carries || (!isListed && elsewhere.some(isMultiplex)),
  );
  const isKnown = isListed && !isCarrier;
  const readValue = createValueReader(budget);
  return found.flatMap((each) =>
    namesIn(each, { request, risk, isKnown, isCarrier, budget, readValue }),
  );
}

/** Built in, or published by an admin: what a member writes about a host lifts no deny. */
export function isTrusted({ tier }: Pick<CompiledTemplate, 'tier'>): boolean {
  return tier !== 'user';
}

interface Found {
  readonly neighbour: Neighbour;
  /** Below its base URL. */
  readonly isBelow: boolean;
  readonly listed: readonly FoundOperation[];
  readonly alike: readonly FoundOperation[];
  /** By other methods, where none is listed. */
  readonly elsewhere: readonly FoundOperation[];
  /** One operation for many: what it does is said in its body. */
  readonly carries: boolean;
  /** Finding out would take too long. */
  readonly isUnread: boolean;
}

function findIn(neighbour: Neighbour, request: SentRequest, budget: NameBudget): Found {
  const { template, prefix } = neighbour;
  const below = pathBelow(prefix, request.path);
  const nothing = {
    neighbour,
    isBelow: below !== undefined,
    carries: false,
    isUnread: false,
    listed: [],
    alike: [],
    elsewhere: [],
  };
  if (template.runtime === 'mcp') {
    budget.left -= request.path.length;
    const carries = request.tool !== undefined || budget.left < 0 || isEndpoint(neighbour, request);
    return { ...nothing, carries };
  }
  if (below === undefined) return nothing;
  const served = findServedOperations(
    template,
    { method: request.method, path: below.path },
    budget,
  );
  if (served === undefined) {
    const carries = operationsFor(template, request.method, budget).mayCarry;
    return { ...nothing, carries, isUnread: true };
  }
  const listed = below.isExact ? served.listed : [];
  const alike = below.isExact ? served.alike : [...served.listed, ...served.alike];
  const carries = [...listed, ...alike].some(isMultiplex);
  return { ...nothing, listed, alike, elsewhere: served.elsewhere, carries };
}

function isMultiplex({ action }: FoundOperation): boolean {
  return action.multiplex === true;
}

/** Where an MCP server takes its messages, spelled as servers may read it. */
function isEndpoint({ template, prefix }: Neighbour, { path }: SentRequest): boolean {
  const plain = (text: string) =>
    text
      .replaceAll(/;[^/]*/g, '')
      .split('/')
      .filter((segment) => segment !== '')
      .join('/')
      .toLowerCase();
  return plain(path) === plain(prefix + (template.mcp?.path ?? ''));
}

interface Circumstances {
  readonly request: SentRequest;
  readonly risk: Risk;
  readonly isKnown: boolean;
  readonly isCarrier: boolean;
  readonly budget: NameBudget;
  readonly readValue: ReadValue;
}

type NamedOperation = Pick<RatedName, 'action' | 'args' | 'risk'>;

function namesIn(found: Found, at: Circumstances): RatedName[] {
  const { names, template } = found.neighbour;
  const operations = template.runtime === 'mcp' ? toolsIn(found, at) : operationsIn(found, at);
  return names.flatMap((service) =>
    operations.map((operation) => ({ service: encodeName(service), ...operation })),
  );
}

function operationsIn(found: Found, at: Circumstances): NamedOperation[] {
  const { neighbour, listed, alike, carries, isUnread } = found;
  const { risk, isKnown, isCarrier, budget } = at;
  // What nobody lists may be any of them: one that is spelled alike is among these.
  const isUnknown = isUnread || (isCarrier ? !carries : listed.length === 0 && !isKnown);
  const operations = listed.length > 0 || !isUnknown ? [...listed, ...alike] : [];
  const certain = new Set(listed.map(({ action }) => action));
  const named: NamedOperation[] = [];
  for (const [index, operation] of operations.entries()) {
    budget.left -= stepsPerOperation;
    if (budget.left < 0) return unknownIn(found, at);
    named.push({
      action: encodeName(operation.action.key),
      args: argumentsOf(operation, {
        ...at,
        fits: neighbour.fits,
        isOtherReading: index >= listed.length && certain.has(operation.action),
      }),
      risk: higher(risk, operation.action.risk),
    });
  }
  return isUnknown ? [...named, ...unknownIn(found, at)] : named;
}

const stepsPerOperation = 100;

/**
 * Any operation of its method, or at its path; any at all where the request carries others, or is a POST, which
 * batches and GraphQL are sent by. Also those that are riskier than the request is.
 */
function unknownIn(
  { neighbour: { template }, isBelow, elsewhere }: Found,
  { request, risk, isCarrier, budget }: Circumstances,
): NamedOperation[] {
  const isAny = isCarrier || request.method === 'POST';
  const { unknown, byRisk } = operationsFor(template, isAny ? null : request.method, budget);
  const riskier = byRisk.filter((each) => isBelow && higher(risk, each.risk) !== risk);
  const atPath = elsewhere.map(({ action }) => ({
    action: encodeName(action.key),
    args: undefined,
    risk: higher(risk, action.risk),
  }));
  return [{ action: unknown, args: undefined, risk }, ...riskier, ...atPath];
}

/**
 * Every tool of an MCP server has the same address: a call of ours says which one it is for, and
 * in any other request only its body would, which is not ours to interpret.
 */
function toolsIn(
  { neighbour: { template, fits }, carries }: Found,
  at: Circumstances,
): NamedOperation[] {
  const { request, risk, isKnown, budget } = at;
  const { tool } = request;
  if (tool === undefined) {
    if (isKnown && !carries) return [];
    // It may be any tool there is, also one that nobody has looked at yet.
    const atMost = ['GET', 'HEAD', 'OPTIONS'].includes(request.method) ? risk : 'delete';
    const { unknown } = operationsFor(template, request.method, budget);
    return [{ action: unknown, args: undefined, risk: atMost }];
  }
  const action = Object.hasOwn(template.actions, tool) ? template.actions[tool] : undefined;
  if (action === undefined) return [{ action: encodeName(tool), args: undefined, risk }];
  const args = argumentsOf({ action, pathValues: {} }, { ...at, fits });
  return [{ action: encodeName(tool), args, risk: higher(risk, action.risk) }];
}

type Credential = Pick<Injection, 'kind' | 'credentialName'>;

/** The names that an action call has by its address, and by what it would be sent with. */
export function addressNames(
  { method, host, path, risk }: { method: HttpMethod; host: string; path: string; risk: Risk },
  credentials: readonly Credential[],
): RatedName[] {
  // An argument may hold a slash; servers differ in whether they see it as one.
  const paths = [path, path.replaceAll(/%2F/gi, '/')];
  const args = [...new Set(paths.flatMap(addressReadings))].map((each) =>
    `${host}${each}`.replaceAll('*', '%2A'),
  );
  return [
    { service: 'http', action: method, args, risk, needs: 'host' },
    ...credentialNames(credentials, { host, risk }),
  ];
}

/** The keys of what an action would be sent with, with and without `org/`. */
export function credentialNames(
  credentials: readonly Credential[],
  { host, risk }: { host: string; risk: Risk },
): RatedName[] {
  return credentials.flatMap(({ kind, credentialName }) =>
    [...new Set([credentialName, withoutOrg(credentialName)])].map((name) => ({
      service: kind,
      action: encodeName(name),
      args: [host],
      risk,
      needs: 'credential' as const,
    })),
  );
}

/** The keys of what a verb or raw call is sent with, without `org/`. */
export function aliasKeys(
  credentials: readonly Credential[],
  { host, risk }: { host: string; risk: Risk },
): RatedName[] {
  return credentials
    .filter(({ credentialName }) => credentialName !== withoutOrg(credentialName))
    .map(({ kind, credentialName }) => ({
      service: kind,
      action: encodeName(withoutOrg(credentialName)),
      args: [host],
      risk,
    }));
}
