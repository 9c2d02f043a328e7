import { setImmediate } from 'node:timers/promises';

import type { ServiceRecord } from '#contracts/bus/registry';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { Risk } from '#contracts/vocabulary';
import { credentialNames, namesOf, neighbourNames, ownNames } from '../domain/deny-names.ts';
import { isAtLeast } from '../domain/risks.ts';
import { createNameBudget } from '../domain/name-budget.ts';
import type { Neighbour, RatedName } from '../domain/deny-names.ts';
import type { NameBudget } from '../domain/name-budget.ts';
import { concernsService, couldDeny, couldDenyAddress } from '../domain/deny-patterns.ts';
import { parseBaseUrl } from '../domain/hosts.ts';
import type { Pattern } from '../domain/patterns.ts';
import type { Lookups, Owner } from '../lookups/lookups.ts';
import { loadNeighbours } from './other-names.ts';

/** Actions that are named to the person who makes a rule. */
const NAMED_MAX = 100;
/** Steps of some 10 ns that looking for them may take, and those before other requests have their turn. */
const STEPS_MAX = 30_000_000;
const STEPS_AT_ONCE = 500_000;
const STEPS_PER_ACTION = 500;

export interface Stopped {
  readonly stops: { service: string; action: string }[];
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
  { owner, services }: { owner: Owner; services: readonly ServiceRecord[] },
  denied: Denied,
): Promise<Stopped> {
  const stops: Stopped['stops'] = [];
  let [left, sinceYield] = [STEPS_MAX, 0];
  for (const service of services) {
    const template = await lookups.getUncheckedTemplate(owner.orgId, service.template);
    const neighbours = await neighboursOf(lookups, { owner, service, template }, denied);
    const actions = Object.values(template.actions).filter(({ disabled }) => !disabled);
    for (const action of actions) {
      const budget = createNameBudget();
      const before = budget.left;
      const isFound = isStopped({ service, template, action, neighbours, budget }, denied);
      const steps = STEPS_PER_ACTION * (1 + neighbours.length) + before - budget.left;
      left -= steps;
      if (left < 0) return { stops, isCut: true };
      sinceYield += steps;
      if (sinceYield > STEPS_AT_ONCE) {
        sinceYield = 0;
        await setImmediate();
      }
      if (!isFound) continue;
      if (stops.length === NAMED_MAX) return { stops, isCut: true };
      stops.push({ service: service.name, action: action.key });
    }
  }
  return { stops, isCut: false };
}

interface Connected {
  readonly service: ServiceRecord;
  readonly template: CompiledTemplate;
}

/** Others on its host, where the rule names one of them. */
async function neighboursOf(
  lookups: Lookups,
  { owner, service, template }: Connected & { owner: Owner },
  { pattern }: Denied,
): Promise<readonly Neighbour[]> {
  // By its own names the rule finds all that it would find by these.
  if (namesOf(service.name, template.key).some((name) => concernsService(pattern, name))) return [];
  const { host } = parseBaseUrl(service.baseUrl);
  const all = await loadNeighbours(lookups, [pattern], {
    ...{ owner, host, budget: createNameBudget() },
  });
  return all.neighbours.map((each) => ({ ...each, fits: () => false }));
}

function isStopped(
  {
    service,
    template,
    action,
    neighbours,
    budget,
  }: Connected & {
    action: CompiledAction;
    neighbours: readonly Neighbour[];
    budget: NameBudget;
  },
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
    ...neighbourNames(neighbours, request, { risk, budget }),
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
