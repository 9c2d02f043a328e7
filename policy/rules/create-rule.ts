import type { Deadline } from '#bus';
import type { ServiceRecord } from '#contracts/bus/registry';
import type { CreatedRule, CreateRuleBody } from '#contracts/http/rules';
import type { CallContext, ChainLink, Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { compilePattern } from '#permission-key';
import { invalidParamError } from '../calls/domain/invalid-params.ts';
import { searchStoppedActions } from '../denials/stopped-actions.ts';
import type { Deps } from '../deps.ts';
import { checkReach } from './check-reach.ts';
import { describeRules } from './describe-rules.ts';
import { parsePattern } from './domain/pattern-text.ts';
import { actorOf, ruleEvent } from './domain/rule-events.ts';
import { countLiveRules, insertRule } from './rule.sql.ts';
import { listRuleServices } from './rule-services.ts';
import type { RuleTarget } from './rule-services.ts';

/**
 * The most rules on one identity or on the org. Every decision about a call below it reads all
 * these rules.
 */
const rulesPerIdentityMax = 500;

/**
 * Creates a rule for a person. The rule is on an identity of the person's own subtree. Admins may
 * also create rules on any other identity of the org and on the org itself.
 */
export async function createRule(
  deps: Deps,
  {
    principal: signed,
    body,
    context,
  }: { principal: string; body: CreateRuleBody; context?: CallContext | undefined },
  deadline: Deadline,
): Promise<CreatedRule> {
  const caller = deps.readPrincipal(signed);
  assertMayWriteRules(caller);
  const pattern = parsePattern(body.pattern);
  requireValidTerms(body, deps.now());
  const chain = await findChainForRule(
    deps,
    { caller, signed, identityId: body.identity_id },
    deadline,
  );
  const ownerUserId = chain[0]?.id ?? null;
  const target = {
    owner: { orgId: caller.orgId, userId: ownerUserId ?? caller.userId },
    isForOrg: body.identity_id === null,
  };
  const unmatched = await checkReach(deps, { effect: body.effect, pattern }, { target, deadline });

  const rule = await deps.db.transaction(async (tx) => {
    const ruleTarget = { orgId: caller.orgId, identityId: body.identity_id };
    if ((await countLiveRules(tx, ruleTarget)) >= rulesPerIdentityMax) {
      throw new AppError(
        'conflict',
        `There are ${rulesPerIdentityMax} rules here already. Delete some, or write a broader one.`,
      );
    }
    const insertedRule = await insertRule(tx, {
      id: deps.newId(),
      ...ruleTarget,
      ownerId: ownerUserId,
      effect: body.effect,
      pattern,
      exact: false,
      serviceId: null,
      credentialId: null,
      riskAtLeast: body.risk_at_least ?? null,
      viaClientId: null,
      createdBy: caller.identityId,
      creatorChain: [caller.identityId],
      madeByAdmin: ownerUserId !== null && ownerUserId !== caller.userId,
      approvalId: null,
      expiresAt: body.expires_at ?? null,
    });
    if (insertedRule === undefined)
      throw new Error('a rule without approval cannot be there already');
    const actor = actorOf(caller, context);
    await appendEvent(tx, ruleEvent('rule.created', insertedRule, { actor, chain }));
    return insertedRule;
  });
  deps.lookups.drop('rules');
  deps.logger.info({ ruleId: rule.id, effect: rule.effect }, 'rule created');
  const [described = rule] = await describeRules(deps, { rules: [rule], viewer: caller }, deadline);
  const effects =
    rule.effect === 'allow' ? {} : await findStoppedActions(deps, rule, { target, deadline });
  const stopsAny =
    (effects.stops?.length ?? 0) + (effects.stops_of_others ?? 0) > 0 || effects.stops_cut === true;
  return {
    ...described,
    ...effects,
    ...(unmatched === undefined || stopsAny ? {} : { matches_nothing: unmatched }),
  };
}

function requireValidTerms(body: CreateRuleBody, nowMs: number): void {
  if (body.effect === 'allow' && body.risk_at_least !== undefined) {
    throw invalidParamError(
      'risk_at_least',
      'belongs to deny rules; leave it out of an allow rule',
    );
  }
  if (body.expires_at !== undefined && Date.parse(body.expires_at) <= nowMs) {
    throw invalidParamError('expires_at', 'must be in the future');
  }
}

/** Finds which actions the rule stops. If the search fails, the rule is created nevertheless. */
async function findStoppedActions(
  { registry, lookups, logger }: Deps,
  rule: CreatedRule,
  { target, deadline }: { target: RuleTarget; deadline: Deadline },
): Promise<Pick<CreatedRule, 'stops' | 'stops_of_others' | 'stops_cut'>> {
  try {
    const {
      stoppedActions: stops,
      stoppedServicesOfOthers: ofOthers,
      isCut,
    } = await searchStoppedActions(
      lookups,
      { owner: target.owner, services: listEnabledServices(registry, target, deadline) },
      { pattern: compilePattern(rule.pattern, false), riskAtLeast: rule.risk_at_least, deadline },
    );
    return {
      stops,
      ...(target.isForOrg ? { stops_of_others: ofOthers } : {}),
      ...(isCut ? { stops_cut: true } : {}),
    };
  } catch (error) {
    logger.warn({ err: error, ruleId: rule.id }, 'not known what a rule stops');
    return {};
  }
}

async function* listEnabledServices(
  registry: Deps['registry'],
  target: RuleTarget,
  deadline: Deadline,
): AsyncIterable<ServiceRecord> {
  for await (const service of listRuleServices(registry, target, deadline)) {
    if (service.status !== 'disabled') yield service;
  }
}

/**
 * Throws for agents, which must not write rules for themselves, and for auditors, who may change
 * nothing.
 */
function assertMayWriteRules(caller: Principal): void {
  if (caller.kind === 'user' && caller.role !== 'auditor') return;
  throw new AppError(
    'forbidden',
    caller.kind === 'user'
      ? 'An auditor changes nothing. Ask an admin to make the rule.'
      : 'Agents make no rules. Ask for an approval that is remembered instead.',
  );
}

/** The chain of the identity that the rule will be on; empty for a rule on the org. */
async function findChainForRule(
  { auth }: Deps,
  { caller, signed, identityId }: { caller: Principal; signed: string; identityId: string | null },
  deadline: Deadline,
): Promise<readonly ChainLink[]> {
  if (identityId === null) {
    if (caller.role === 'admin') return [];
    throw new AppError('forbidden', 'Only an admin makes rules for the whole org.');
  }
  // auth is asked first whether the caller may see the identity, so that a hidden identity and a
  // missing one get the same answer.
  await auth.getIdentity({ principal: signed, id: identityId }, deadline);
  const { chain } = await auth.getChain({ orgId: caller.orgId, identityId }, deadline);
  if (caller.role !== 'admin' && chain[0]?.id !== caller.userId) {
    throw new AppError('not_found', 'There is no such identity among yours.');
  }
  return chain;
}
