import type { ServiceRecord } from '#contracts/bus/registry';
import type { Gap } from '#contracts/permit';
import type { CompiledAction } from '#contracts/template';
import { AppError } from '#errors';
import { scopeOf } from '#templates';
import { isOpenRead } from '../calls/action-facts.ts';
import { denyArgumentsOfKeys } from '../calls/domain/scope-values.ts';
import {
  listActionNames,
  listAddressNames,
  listAliasKeys,
  namesOf,
} from '../denials/domain/deny-names.ts';
import type { RatedName } from '../denials/domain/deny-names.ts';
import { findOtherNames, recallArguments } from '../denials/other-names.ts';
import type { Lookups } from '../deps.ts';
import { denyPatternsIn } from './domain/chain-rules.ts';
import type { RulesByIdentity } from './domain/chain-rules.ts';
import { createDecisionBudget } from './domain/denial.ts';
import type { DecisionBudget, WalkedCall } from './domain/denial.ts';

/**
 * A suspended call as the walk decides on it at the replay: the facts are those in the permission
 * gap, the rules and services those of now.
 */
export async function recallCall(
  lookups: Lookups,
  rulesByIdentity: RulesByIdentity,
  gap: Gap,
): Promise<WalkedCall> {
  const budget = createDecisionBudget();
  const currentAction = await findCurrentAction(lookups, gap);
  return {
    keys: gap.derivedKeys,
    risk: gap.risk,
    serviceId: gap.target.kind === 'raw' ? null : gap.target.serviceId,
    credentialIds: gap.injections.map(({ credentialId }) => credentialId),
    isOpenRead:
      currentAction !== undefined && isOpenRead(currentAction.service, currentAction.action),
    denyNames: [
      ...ownNamesOf(gap, currentAction?.action),
      ...(await otherNamesOf(lookups, rulesByIdentity, { gap, budget })),
    ],
    budget,
  };
}

function ownNamesOf(gap: Gap, action: CompiledAction | undefined): RatedName[] {
  const { target, derivedKeys, risk, injections, hosts, otherNames } = gap;
  const [host] = hosts;
  if (target.kind !== 'action') return listAliasKeys(injections, { host: host ?? '', risk });
  const deniedArguments = denyArgumentsOfKeys(
    derivedKeys,
    action === undefined ? 1 : scopeOf(action).length,
  );
  const serviceNames = namesOf(target.service, target.template.key);
  return [
    ...listActionNames(serviceNames, { action: target.action, args: deniedArguments, risk }),
    ...(otherNames === undefined || host === undefined
      ? []
      : listAddressNames(
          { method: otherNames.method, host, path: otherNames.path, risk },
          injections,
        )),
  ];
}

async function otherNamesOf(
  lookups: Lookups,
  rulesByIdentity: RulesByIdentity,
  { gap, budget }: { gap: Gap; budget: DecisionBudget },
): Promise<RatedName[]> {
  const { otherNames, orgId, userId, hosts, risk } = gap;
  const [host] = hosts;
  if (otherNames === undefined || host === undefined) return [];
  const { method, path, tool, known } = otherNames;
  const namesElsewhere = await findOtherNames(lookups, denyPatternsIn(rulesByIdentity), {
    owner: { orgId, userId },
    host,
    risk,
    request: { method, path, query: undefined, body: undefined, tool },
    budget: budget.names,
  });
  return recallArguments(namesElsewhere, known);
}

/**
 * The current service and action; undefined if the name now stands for another service, or if the
 * service no longer has the action.
 */
async function findCurrentAction(
  lookups: Lookups,
  gap: Gap,
): Promise<{ service: ServiceRecord; action: CompiledAction } | undefined> {
  if (gap.target.kind !== 'action') return undefined;
  const service = await findService(lookups, gap);
  if (service === undefined || service.id !== gap.target.serviceId) return undefined;
  const template = await lookups.getTemplate(gap.orgId, gap.target.template);
  const action = template.actions[gap.target.action];
  return action === undefined ? undefined : { service, action };
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
