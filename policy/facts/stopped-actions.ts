import { setImmediate } from 'node:timers/promises';

import type { Deadline } from '#bus';
import type { ServiceRecord } from '#contracts/bus/registry';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { Risk } from '#contracts/vocabulary';
import type { Pattern } from '#permission-key';
import { credentialNames, namesOf, neighbourNames, ownNames } from '../domain/deny-names.ts';
import { isAtLeast } from '../domain/risks.ts';
import { createNameBudget } from '../domain/name-budget.ts';
import type { Neighbour, RatedName } from '../domain/deny-names.ts';
import type { NameBudget } from '../domain/name-budget.ts';
import { concernsService, couldDeny, couldDenyAddress } from '../domain/deny-patterns.ts';
import { parseBaseUrl } from '../domain/hosts.ts';
import type { Lookups, Owner } from '../lookups/lookups.ts';
import { anyService, loadNeighbours } from './other-names.ts';

/** Actions that are named to the person who makes a rule. */
const namedMax = 100;
/** Steps of some 10 ns that looking for them may take, and those before other requests have their turn. */
const stepsMax = 30_000_000;
const stepsAtOnce = 500_000;
const stepsPerAction = 500;
/** Services that are looked at, each with a few requests to the registry. */
const servicesMax = 2_000;
/** No more services are looked at when less than this is left of the time for the answer. */
const leftMs = 1_500;

export interface Stopped {
  readonly stops: { service: string; action: string }[];
  /** Services of other members, which are not named. */
  readonly ofOthers: number;
  /** There may be more. */
  readonly isCut: boolean;
}

interface Denied {
  readonly pattern: Pattern;
  readonly riskAtLeast: Risk | null;
}

/**
 * The actions of connected services of which a deny rule refuses some call or every call, whatever
 * name it knows them by: what its author may not have thought of.
 */
export async function findStopped(
  lookups: Lookups,
  { owner, services }: { owner: Owner; services: AsyncIterable<ServiceRecord> },
  { deadline, ...denied }: Denied & { deadline: Deadline },
): Promise<Stopped> {
  const stops: Stopped['stops'] = [];
  const work = { left: stepsMax, sinceYield: 0 };
  let [ofOthers, left] = [0, servicesMax];
  for await (const service of services) {
    left -= 1;
    if (left < 0 || deadline.remainingMs() < leftMs) return { stops, ofOthers, isCut: true };
    const { orgId, userId } = owner;
    const isOthers = service.ownerId !== null && service.ownerId !== userId;
    const caller = { orgId, userId: service.ownerId ?? userId };
    for await (const action of stoppedOf(lookups, { owner: caller, service, work }, denied)) {
      if (isOthers) {
        ofOthers += 1;
        break;
      }
      if (stops.length === namedMax) return { stops, ofOthers, isCut: true };
      stops.push({ service: service.name, action });
    }
    if (work.left < 0) return { stops, ofOthers, isCut: true };
  }
  return { stops, ofOthers, isCut: false };
}

/** Keys of the stopped actions of one service. Ends early where the work that may be done is used up. */
async function* stoppedOf(
  lookups: Lookups,
  {
    owner,
    service,
    work,
  }: { owner: Owner; service: ServiceRecord; work: { left: number; sinceYield: number } },
  denied: Denied,
): AsyncIterable<string> {
  const template = await lookups.getUncheckedTemplate(owner.orgId, service.template);
  const around = await neighboursOf(lookups, { owner, service, template }, denied);
  const actions = Object.values(template.actions).filter(({ disabled }) => !disabled);
  for (const action of actions) {
    const budget = createNameBudget();
    const before = budget.left;
    const isFound = isStopped({ service, template, action, around, budget }, denied);
    const steps = stepsPerAction * (1 + around.neighbours.length) + before - budget.left;
    work.left -= steps;
    if (work.left < 0) return;
    work.sinceYield += steps;
    if (work.sinceYield > stepsAtOnce) {
      work.sinceYield = 0;
      await setImmediate();
    }
    if (isFound) yield action.key;
  }
}

interface Connected {
  readonly service: ServiceRecord;
  readonly template: CompiledTemplate;
}

interface Around {
  readonly neighbours: readonly Neighbour[];
  /** There are more: a call may be an operation of any of them. */
  readonly isCut: boolean;
}

/** Others on its host, where the rule names one of them. */
async function neighboursOf(
  lookups: Lookups,
  { owner, service, template }: Connected & { owner: Owner },
  { pattern }: Denied,
): Promise<Around> {
  const names = namesOf(service.name, template.key);
  // By its own names the rule finds all that it would find by these.
  if (names.some((name) => concernsService(pattern, name))) return { neighbours: [], isCut: false };
  const { host } = parseBaseUrl(service.baseUrl);
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
    around,
    budget,
  }: Connected & { action: CompiledAction; around: Around; budget: NameBudget },
  { pattern, riskAtLeast }: Denied,
): boolean {
  const { method, risk } = action;
  const { host, prefix } = parseBaseUrl(service.baseUrl);
  // Placeholders stand where values will: what they would be is unknown.
  const path = prefix + action.path;
  const tool = template.runtime === 'mcp' ? action.key : undefined;
  const request = { method, path, query: undefined, body: undefined, tool };
  const names: RatedName[] = [
    ...ownNames(namesOf(service.name, template.key), {
      action: action.key,
      keyArg: undefined,
      risk,
    }),
    ...credentialNames(credentialsOf({ service, template }), { host, risk }),
    ...neighbourNames(around.neighbours, request, { risk, budget }),
    ...(around.isCut ? [anyService(risk)] : []),
  ];
  const isRisky = (each: Risk) => riskAtLeast === null || isAtLeast(each, riskAtLeast);
  return (
    names.some((name) => isRisky(name.risk) && couldDeny(pattern, name)) ||
    (isRisky(risk) && couldDenyAddress(pattern, { method, host, path }))
  );
}

function credentialsOf({ service, template }: Connected) {
  const schemes = new Set(template.security.flat());
  const secrets = Object.entries(service.secrets)
    .filter(([scheme]) => schemes.has(scheme))
    .map(([, credentialName]) => ({ kind: 'secret' as const, credentialName }));
  const { connection } = service;
  return connection === null
    ? secrets
    : [...secrets, { kind: 'connection' as const, credentialName: connection }];
}
