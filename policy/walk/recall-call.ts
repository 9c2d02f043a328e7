import type { ServiceRecord } from '#contracts/bus/registry';
import type { Gap } from '#contracts/permit';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { isOpenRead } from '../calls/action-facts.ts';
import {
  listActionNames,
  listAddressNames,
  listAliasKeys,
  namesOf,
} from '../denials/domain/deny-names.ts';
import type { RatedName } from '../denials/domain/deny-names.ts';
import { isJudgedAsRequest } from '../denials/domain/judged-as-request.ts';
import { listShadowedNames } from '../denials/domain/request-names.ts';
import { findOtherNames } from '../denials/other-names.ts';
import type { Lookups } from '../deps.ts';
import { parseBaseUrl } from '../services/domain/hosts.ts';
import { denyPatternsIn } from './domain/chain-rules.ts';
import type { RulesByIdentity } from './domain/chain-rules.ts';
import { createDecisionBudget } from './domain/denial.ts';
import type { WalkedCall } from './domain/denial.ts';

/**
 * A suspended call in the form that the permission walk takes at the replay. The facts come from
 * the permission gap; the rules and services are the current ones.
 */
export async function recallCall(
  lookups: Lookups,
  rulesByIdentity: RulesByIdentity,
  gap: Gap,
): Promise<WalkedCall> {
  const currentAction = await findCurrentAction(lookups, gap);
  return {
    keys: gap.derivedKeys,
    risk: gap.risk,
    serviceId: gap.target.kind === 'raw' ? null : gap.target.serviceId,
    credentialIds: gap.injections.map(({ credentialId }) => credentialId),
    isOpenRead:
      currentAction !== undefined && isOpenRead(currentAction.service, currentAction.action),
    denyNames: [
      ...ownNamesOf(gap, currentAction),
      ...(await otherNamesOf(lookups, rulesByIdentity, { gap, action: currentAction?.action })),
    ],
    budget: createDecisionBudget(),
  };
}

interface CurrentAction {
  readonly service: ServiceRecord;
  readonly template: CompiledTemplate;
  readonly action: CompiledAction;
}

function ownNamesOf(gap: Gap, currentAction: CurrentAction | undefined): RatedName[] {
  const { target, derivedKeys, risk, injections, hosts, otherNames } = gap;
  const [host] = hosts;
  if (target.kind !== 'action') return listAliasKeys(injections, { host: host ?? '', risk });
  const serviceNames = namesOf(target.service, target.template.key);
  return [
    ...listActionNames(serviceNames, { action: target.action, keys: derivedKeys, risk }),
    ...(otherNames === undefined || host === undefined
      ? []
      : listAddressNames(
          { method: otherNames.method, host, path: otherNames.path, risk },
          injections,
        )),
    ...(otherNames === undefined || currentAction === undefined
      ? []
      : listShadowedNames(serviceNames, currentAction.template, {
          action: currentAction.action,
          path: otherNames.path.slice(parseBaseUrl(target.baseUrl).prefix.length),
          risk,
        })),
  ];
}

/**
 * The names under which deny rules match the call as an HTTP request. An action that its service no
 * longer has is always compared as a request, too.
 */
async function otherNamesOf(
  lookups: Lookups,
  rulesByIdentity: RulesByIdentity,
  { gap, action }: { gap: Gap; action: CompiledAction | undefined },
): Promise<RatedName[]> {
  const { otherNames, orgId, userId, hosts, risk, target } = gap;
  const [host] = hosts;
  if (otherNames === undefined || host === undefined) return [];
  if (
    target.kind === 'action' &&
    action !== undefined &&
    !isJudgedAsRequest(target.template, action)
  ) {
    return [];
  }
  const { method, path, tool } = otherNames;
  return findOtherNames(lookups, denyPatternsIn(rulesByIdentity), {
    owner: { orgId, userId },
    host,
    risk,
    request: { method, path, tool },
    ownTemplate: target.kind === 'action' ? target.template : undefined,
  });
}

/**
 * The current service and action. Undefined if another service now has the name, or if the service
 * no longer has the action.
 */
async function findCurrentAction(lookups: Lookups, gap: Gap): Promise<CurrentAction | undefined> {
  if (gap.target.kind !== 'action') return undefined;
  const service = await findService(lookups, gap);
  if (service === undefined || service.id !== gap.target.serviceId) return undefined;
  const template = await lookups.getTemplate(gap.orgId, gap.target.template);
  const action = template.actions[gap.target.action];
  return action === undefined ? undefined : { service, template, action };
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
