import { setImmediate } from 'node:timers/promises';

import type { Deadline } from '#bus';
import type { ServiceRecord } from '#contracts/bus/registry';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { Risk } from '#contracts/vocabulary';
import { actionKey, encodeAsterisks, unknownPosition } from '#permission-key';
import type { Pattern } from '#permission-key';
import { actionBaseUrl, scopeOf } from '#templates';
import type { PathBudget } from '#templates';
import type { Lookups, Owner } from '../deps.ts';
import { parseBaseUrl } from '../services/domain/hosts.ts';
import { listActionNames, listCredentialNames, namesOf } from './domain/deny-names.ts';
import type { RatedName } from './domain/deny-names.ts';
import { couldDeny } from './domain/deny-patterns.ts';
import { isJudgedAsRequest } from './domain/judged-as-request.ts';
import { isAtLeast } from './domain/risks.ts';
import { findOtherNames } from './other-names.ts';

/** The most actions that are named in the answer to creating a deny rule. */
const namedActionsMax = 100;
/** The most services that are searched. Each service takes a few requests to the registry. */
const searchedServicesMax = 2_000;
/** Other requests may run after this number of actions. */
const actionsBetweenTurns = 50;
/** The most steps, of about 10 ns each, that the search takes to look up requests in templates. */
const searchStepsMax = 30_000_000;
/** The search stops when less than this time is left until the answer is due. */
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
 * Finds the actions of connected services that a deny rule refuses: all calls of the action or
 * some, under any of its names. The answer tells the author of the rule about effects that were not
 * intended.
 */
export async function searchStoppedActions(
  lookups: Lookups,
  { owner, services }: { owner: Owner; services: AsyncIterable<ServiceRecord> },
  { deadline, ...denied }: DenyCondition & { deadline: Deadline },
): Promise<StoppedActions> {
  const stops: StoppedActions['stoppedActions'] = [];
  const limit: SearchLimit = { budget: { left: searchStepsMax }, deadline };
  let [ofOthers, left] = [0, searchedServicesMax];
  for await (const service of services) {
    left -= 1;
    if (left < 0 || isReached(limit))
      return { stoppedActions: stops, stoppedServicesOfOthers: ofOthers, isCut: true };
    const { orgId, userId } = owner;
    const isOthers = service.ownerId !== null && service.ownerId !== userId;
    const serviceOwner = { orgId, userId: service.ownerId ?? userId };
    for await (const action of listStoppedActions(lookups, {
      owner: serviceOwner,
      service,
      denied,
      limit,
    })) {
      if (isOthers) {
        ofOthers += 1;
        break;
      }
      if (stops.length === namedActionsMax)
        return { stoppedActions: stops, stoppedServicesOfOthers: ofOthers, isCut: true };
      stops.push({ service: service.name, action });
    }
    if (isReached(limit))
      return { stoppedActions: stops, stoppedServicesOfOthers: ofOthers, isCut: true };
  }
  return { stoppedActions: stops, stoppedServicesOfOthers: ofOthers, isCut: false };
}

interface SearchLimit {
  readonly budget: PathBudget;
  readonly deadline: Deadline;
}

function isReached({ budget, deadline }: SearchLimit): boolean {
  return budget.left < 0 || deadline.remainingMs() < reservedMs;
}

interface ServiceSearch {
  readonly owner: Owner;
  readonly service: ServiceRecord;
  readonly denied: DenyCondition;
  readonly limit: SearchLimit;
}

/** Yields the keys of one service's stopped actions. Ends early when the limit is reached. */
async function* listStoppedActions(
  lookups: Lookups,
  { owner, service, denied, limit }: ServiceSearch,
): AsyncIterable<string> {
  const template = await lookups.getUncheckedTemplate(owner.orgId, service.template);
  let actionsSinceTurn = 0;
  for (const action of Object.values(template.actions)) {
    if (action.disabled) continue;
    // Looking up a request in the templates of its host takes longer than comparing names.
    actionsSinceTurn += isJudgedAsRequest(template, action) ? actionsBetweenTurns : 1;
    if (actionsSinceTurn >= actionsBetweenTurns) {
      actionsSinceTurn = 0;
      await setImmediate();
      if (isReached(limit)) return;
    }
    const names = await listPossibleNames(
      lookups,
      { owner, service, template, action },
      { ...denied, budget: limit.budget },
    );
    if (names.some((name) => isStoppedBy(denied, name))) yield action.key;
  }
}

function isStoppedBy({ pattern, riskAtLeast }: DenyCondition, name: RatedName): boolean {
  return (riskAtLeast === null || isAtLeast(name.risk, riskAtLeast)) && couldDeny(pattern, name);
}

interface ConnectedAction {
  readonly owner: Owner;
  readonly service: ServiceRecord;
  readonly template: CompiledTemplate;
  readonly action: CompiledAction;
}

/** The names that calls of the action can have. `**` stands for the values in its path. */
async function listPossibleNames(
  lookups: Lookups,
  { owner, service, template, action }: ConnectedAction,
  { pattern, budget }: Pick<DenyCondition, 'pattern'> & { budget: PathBudget },
): Promise<RatedName[]> {
  const baseUrl = actionBaseUrl(template, action, service.baseUrl);
  if (baseUrl === undefined) return [];
  const { method, risk } = action;
  const { host, prefix } = parseBaseUrl(baseUrl);
  const address = encodeAsterisks(host + prefix + action.path).replaceAll(/\{[^{}]*\}/g, '**');
  const tool = template.runtime === 'mcp' ? action.key : undefined;
  const request = { method, path: prefix + action.path, tool };
  return [
    ...listActionNames(namesOf(service.name, template.key), {
      action: action.key,
      keys: [possibleKeyOf(service.name, action)],
      risk,
    }),
    ...listCredentialNames(credentialsOf({ service, template }), { host, risk }),
    { service: 'http', action: method, args: [address], risk, needs: 'host' },
    ...(isJudgedAsRequest(template, action)
      ? await findOtherNames(lookups, [pattern], {
          owner,
          host,
          risk,
          request,
          budget,
          ownTemplate: service.template,
        })
      : []),
  ];
}

/**
 * A key that stands for the keys of all calls of the action. Each position has any value; the whole
 * argument is any text if a call may leave it out or give several values.
 */
function possibleKeyOf(service: string, action: CompiledAction) {
  const positions = scopeOf(action);
  const isAnyArgument =
    positions.length < 2 ||
    positions.some(({ isList }) => isList) ||
    positions.every(({ sources }) =>
      sources.every(({ param, steps }) => !param.required || steps.length > 0),
    );
  const key = actionKey(service, action.key);
  if (isAnyArgument) return key;
  const arg = positions.map(() => unknownPosition).join('/');
  return { ...key, arg };
}

function credentialsOf({ service, template }: Pick<ConnectedAction, 'service' | 'template'>) {
  const schemes = new Set(template.security.flat());
  const secrets = Object.entries(service.secrets)
    .filter(([scheme]) => schemes.has(scheme))
    .map(([, credentialName]) => ({ kind: 'secret' as const, credentialName }));
  const { connection } = service;
  return connection === null
    ? secrets
    : [...secrets, { kind: 'connection' as const, credentialName: connection }];
}
