import type { ServiceRecord } from '#contracts/bus/registry';
import type { Gap } from '#contracts/permit';
import { AppError } from '#errors';
import { wholeAction } from '#permission-key';
import { createDecisionBudget } from '../domain/denials.ts';
import type { DecisionBudget, WalkedCall } from '../domain/denials.ts';
import { addressNames, aliasKeys, namesOf, ownNames } from '../domain/deny-names.ts';
import type { RatedName } from '../domain/deny-names.ts';
import type { Standings } from '../domain/rules.ts';
import type { Lookups } from '../lookups/lookups.ts';
import { isOpenRead } from './action-facts.ts';
import { deniesIn, findOtherNames, recallArguments } from './other-names.ts';

/** A suspended call as the walk sees it now: what the gap says, under the rules and services of today. */
export async function recallCall(
  lookups: Lookups,
  standings: Standings,
  gap: Gap,
): Promise<WalkedCall> {
  const budget = createDecisionBudget();
  return {
    keys: gap.derivedKeys,
    risk: gap.risk,
    serviceId: gap.target.kind === 'raw' ? null : gap.target.serviceId,
    credentialIds: gap.injections.map(({ credentialId }) => credentialId),
    isOpenRead: await wasOpenRead(lookups, gap),
    denyNames: [...ownNamesOf(gap), ...(await otherNamesOf(lookups, standings, { gap, budget }))],
    budget,
  };
}

function ownNamesOf(gap: Gap): RatedName[] {
  const { target, derivedKeys, risk, injections, hosts, otherNames } = gap;
  const [key] = derivedKeys;
  const [host] = hosts;
  if (target.kind !== 'action') return aliasKeys(injections, { host: host ?? '', risk });
  if (key === undefined) return [];
  const keyArg = key.arg === wholeAction ? undefined : key.arg;
  const names = namesOf(target.service, target.template.key);
  return [
    ...ownNames(names, { action: target.action, keyArg, risk }),
    ...(otherNames === undefined || host === undefined
      ? []
      : addressNames({ method: otherNames.method, host, path: otherNames.path, risk }, injections)),
  ];
}

async function otherNamesOf(
  lookups: Lookups,
  standings: Standings,
  { gap, budget }: { gap: Gap; budget: DecisionBudget },
): Promise<RatedName[]> {
  const { otherNames, orgId, userId, hosts, risk } = gap;
  const [host] = hosts;
  if (otherNames === undefined || host === undefined) return [];
  const { method, path, tool, known } = otherNames;
  const names = await findOtherNames(lookups, deniesIn(standings), {
    owner: { orgId, userId },
    host,
    risk,
    request: { method, path, query: undefined, body: undefined, tool },
    budget: budget.names,
  });
  return recallArguments(names, known);
}

async function wasOpenRead(lookups: Lookups, gap: Gap): Promise<boolean> {
  if (gap.target.kind !== 'action') return false;
  const service = await findService(lookups, gap);
  if (service === undefined || service.id !== gap.target.serviceId) return false;
  const template = await lookups.getTemplate(gap.orgId, gap.target.template);
  const action = template.actions[gap.target.action];
  return action !== undefined && isOpenRead(service, action);
}

async function findService(lookups: Lookups, gap: Gap): Promise<ServiceRecord | undefined> {
  if (gap.target.kind === 'raw') return undefined;
  try {
    return await lookups.getService(gap, gap.target.service);
  } catch (error) {
    if (error instanceof AppError && error.code === 'unknown_service') return undefined;
    throw error;
  }
}
