import { setImmediate } from 'node:timers/promises';

import type { Deadline } from '#bus';
import type { ServiceRecord } from '#contracts/bus/registry';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { Risk } from '#contracts/vocabulary';
import { unknownPosition } from '#permission-key';
import type { Pattern } from '#permission-key';
import { actionBaseUrl, scopeOf } from '#templates';
import type { Lookups, Owner } from '../deps.ts';
import { parseBaseUrl } from '../services/domain/hosts.ts';
import {
  listActionNames,
  listCredentialNames,
  namesOf,
  neighbourNames,
} from './domain/deny-names.ts';
import type { Neighbour, RatedName } from './domain/deny-names.ts';
import { concernsService, couldDeny, couldDenyAddress } from './domain/deny-patterns.ts';
import { createNameBudget } from './domain/name-budget.ts';
import type { NameBudget } from './domain/name-budget.ts';
import { isAtLeast } from './domain/risks.ts';
import { toAnyServiceName, loadNeighbours } from './other-names.ts';

/** The most actions that the answer to creating a deny rule names. */
const namedActionsMax = 100;
/**
 * The budget for the search, in steps of about 10 ns, and after how many steps other requests run.
 */
const searchStepsMax = 30_000_000;
const stepsBetweenYieldsMax = 500_000;
const stepsPerAction = 500;
/** The most services that are searched. Each service takes a few requests to the registry. */
const searchedServicesMax = 2_000;
/** The search stops when less time than this is left until the deadline of the answer. */
const reservedMs = 1_500;

export interface StoppedActions {
  readonly stoppedActions: { service: string; action: string }[];
  /**
   * How many services of other members the rule affects. The answer does not name these services.
   */
  readonly stoppedServicesOfOthers: number;
  /** Whether the search ended early, so that the rule may stop more actions. */
  readonly isCut: boolean;
}

interface DenyCondition {
  readonly pattern: Pattern;
  readonly riskAtLeast: Risk | null;
}

/**
 * Finds the actions of connected services of which a deny rule refuses some or all calls, under any
 * of their names. The rule's author learns from them which effects were not intended.
 */
export async function searchStoppedActions(
  lookups: Lookups,
  { owner, services }: { owner: Owner; services: AsyncIterable<ServiceRecord> },
  { deadline, ...denied }: DenyCondition & { deadline: Deadline },
): Promise<StoppedActions> {
  const stops: StoppedActions['stoppedActions'] = [];
  const stepBudget = { left: searchStepsMax, sinceYield: 0 };
  let [ofOthers, left] = [0, searchedServicesMax];
  for await (const service of services) {
    left -= 1;
    if (left < 0 || deadline.remainingMs() < reservedMs)
      return { stoppedActions: stops, stoppedServicesOfOthers: ofOthers, isCut: true };
    const { orgId, userId } = owner;
    const isOthers = service.ownerId !== null && service.ownerId !== userId;
    const serviceOwner = { orgId, userId: service.ownerId ?? userId };
    for await (const action of listStoppedActions(
      lookups,
      { owner: serviceOwner, service, stepBudget },
      denied,
    )) {
      if (isOthers) {
        ofOthers += 1;
        break;
      }
      if (stops.length === namedActionsMax)
        return { stoppedActions: stops, stoppedServicesOfOthers: ofOthers, isCut: true };
      stops.push({ service: service.name, action });
    }
    if (stepBudget.left < 0)
      return { stoppedActions: stops, stoppedServicesOfOthers: ofOthers, isCut: true };
  }
  return { stoppedActions: stops, stoppedServicesOfOthers: ofOthers, isCut: false };
}

/** Yields the keys of one service's stopped actions. Ends early when the budget is used up. */
async function* listStoppedActions(
  lookups: Lookups,
  {
    owner,
    service,
    stepBudget,
  }: { owner: Owner; service: ServiceRecord; stepBudget: { left: number; sinceYield: number } },
  denyCondition: DenyCondition,
): AsyncIterable<string> {
  const template = await lookups.getUncheckedTemplate(owner.orgId, service.template);
  const neighboursByHost = new Map<string, HostNeighbours>();
  const actions = Object.values(template.actions).filter(({ disabled }) => !disabled);
  for (const action of actions) {
    const baseUrl = actionBaseUrl(template, action, service.baseUrl);
    if (baseUrl === undefined) continue;
    const { host } = parseBaseUrl(baseUrl);
    const hostNeighbours =
      neighboursByHost.get(host) ??
      (await neighboursOf(lookups, { owner, service, template, host }, denyCondition));
    neighboursByHost.set(host, hostNeighbours);
    const budget = createNameBudget();
    const stepsBefore = budget.left;
    const isActionStopped = isStopped(
      { service, template, action, baseUrl, hostNeighbours, budget },
      denyCondition,
    );
    const steps =
      stepsPerAction * (1 + hostNeighbours.neighbours.length) + stepsBefore - budget.left;
    stepBudget.left -= steps;
    if (stepBudget.left < 0) return;
    stepBudget.sinceYield += steps;
    if (stepBudget.sinceYield > stepsBetweenYieldsMax) {
      stepBudget.sinceYield = 0;
      await setImmediate();
    }
    if (isActionStopped) yield action.key;
  }
}

interface ConnectedAction {
  readonly service: ServiceRecord;
  readonly template: CompiledTemplate;
}

interface HostNeighbours {
  readonly neighbours: readonly Neighbour[];
  /**
   * Whether the host has more neighbours than these. Then a call may be an operation of any
   * service.
   */
  readonly isCut: boolean;
}

/** The other services and templates on the host of an action, if the rule names one of them. */
async function neighboursOf(
  lookups: Lookups,
  { owner, service, template, host }: ConnectedAction & { owner: Owner; host: string },
  { pattern }: DenyCondition,
): Promise<HostNeighbours> {
  const serviceNames = namesOf(service.name, template.key);
  // If the rule concerns the service by its own names, the names of its neighbours are not needed.
  if (serviceNames.some((name) => concernsService(pattern, name)))
    return { neighbours: [], isCut: false };
  const { neighbours, isCut } = await loadNeighbours(lookups, [pattern], {
    owner,
    host,
    budget: createNameBudget(),
  });
  return { neighbours: neighbours.map((each) => ({ ...each, fits: () => false })), isCut };
}

function isStopped(
  {
    service,
    template,
    action,
    baseUrl,
    hostNeighbours,
    budget,
  }: ConnectedAction & {
    action: CompiledAction;
    /** Where calls of the action go. */
    baseUrl: string;
    hostNeighbours: HostNeighbours;
    budget: NameBudget;
  },
  { pattern, riskAtLeast }: DenyCondition,
): boolean {
  const { method, risk } = action;
  const { host, prefix } = parseBaseUrl(baseUrl);
  // The path contains placeholders, because the values of a future call are unknown.
  const path = prefix + action.path;
  const tool = template.runtime === 'mcp' ? action.key : undefined;
  const request = { method, path, query: undefined, body: undefined, tool };
  const ratedNames: RatedName[] = [
    ...listActionNames(namesOf(service.name, template.key), {
      action: action.key,
      args: possibleArgumentsOf(action),
      risk,
    }),
    ...listCredentialNames(credentialsOf({ service, template }), { host, risk }),
    ...neighbourNames(hostNeighbours.neighbours, request, { risk, budget }),
    ...(hostNeighbours.isCut ? [toAnyServiceName(risk)] : []),
  ];
  const isRisky = (each: Risk) => riskAtLeast === null || isAtLeast(each, riskAtLeast);
  return (
    ratedNames.some((name) => isRisky(name.risk) && couldDeny(pattern, name)) ||
    (isRisky(risk) && couldDenyAddress(pattern, { method, host, path }))
  );
}

/**
 * The arguments that calls of the action can have: any value in each of its positions. Undefined when
 * the argument may be anything, as when a call gives no value at all.
 */
function possibleArgumentsOf(action: CompiledAction): readonly string[] | undefined {
  const positions = scopeOf(action);
  const canBeUnknown =
    positions.length < 2 ||
    positions.some(({ isList }) => isList) ||
    positions.every(({ sources }) =>
      sources.every(({ param, steps }) => !param.required || steps.length > 0),
    );
  return canBeUnknown ? undefined : [positions.map(() => unknownPosition).join('/')];
}

function credentialsOf({ service, template }: ConnectedAction) {
  const schemes = new Set(template.security.flat());
  const secrets = Object.entries(service.secrets)
    .filter(([scheme]) => schemes.has(scheme))
    .map(([, credentialName]) => ({ kind: 'secret' as const, credentialName }));
  const { connection } = service;
  return connection === null
    ? secrets
    : [...secrets, { kind: 'connection' as const, credentialName: connection }];
}
