import type { Deadline } from '#bus';
import type { ServiceRecord } from '#contracts/bus/registry';
import type { CreatedRule, CreateRuleBody } from '#contracts/http/rules';
import type { CallContext, ChainLink, Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { compilePattern } from '#permission-key';
import type { Deps } from '../deps.ts';
import { invalidParam } from '../domain/invalid-call.ts';
import { parsePattern } from '../domain/pattern-text.ts';
import { actorOf, ruleEvent } from '../domain/rule-events.ts';
import { findStopped } from '../facts/stopped-actions.ts';
import type { Owner } from '../lookups/lookups.ts';
import { countLiveRules, insertRule } from '../repository/rules.ts';

/** Rules that people keep on one identity or the org; each is read on every decision below it. */
const rulesPerIdentityMax = 500;

/** A rule by a person: on identities of the own subtree, or by an admin anywhere and on the org. */
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
  checkMayWrite(caller);
  const pattern = parsePattern(body.pattern);
  if (body.effect === 'allow' && body.risk_at_least !== undefined) {
    throw invalidParam('risk_at_least', 'belongs to deny rules; leave it out of an allow rule');
  }
  if (body.expires_at !== undefined && Date.parse(body.expires_at) <= deps.now()) {
    throw invalidParam('expires_at', 'must lie in the future');
  }
  const chain = await findPlace(deps, { caller, signed, identityId: body.identity_id }, deadline);
  const owner = chain[0]?.id ?? null;

  const rule = await deps.db.transaction(async (tx) => {
    const place = { orgId: caller.orgId, identityId: body.identity_id };
    if ((await countLiveRules(tx, place)) >= rulesPerIdentityMax) {
      throw new AppError(
        'conflict',
        `There are ${rulesPerIdentityMax} rules here already. Delete some, or write a broader one.`,
      );
    }
    const inserted = await insertRule(tx, {
      id: deps.newId(),
      ...place,
      ownerId: owner,
      effect: body.effect,
      pattern,
      exact: false,
      serviceId: null,
      credentialId: null,
      riskAtLeast: body.risk_at_least ?? null,
      viaClientId: null,
      createdBy: caller.identityId,
      creatorChain: [caller.identityId],
      madeByAdmin: owner !== null && owner !== caller.userId,
      approvalId: null,
      expiresAt: body.expires_at ?? null,
    });
    if (inserted === undefined) throw new Error('a rule without approval cannot be there already');
    const actor = actorOf(caller, context);
    await appendEvent(tx, ruleEvent('rule.created', inserted, { actor, chain }));
    return inserted;
  });
  deps.lookups.drop('rules');
  deps.logger.info({ ruleId: rule.id, effect: rule.effect }, 'rule created');
  if (rule.effect === 'allow') return rule;
  const userId = owner ?? caller.userId;
  return {
    ...rule,
    ...(await tellStopped(deps, rule, { owner: { orgId: caller.orgId, userId }, deadline })),
  };
}

/** The rule stands, whether or not there is an answer to what it stops. */
async function tellStopped(
  { registry, lookups, logger }: Deps,
  rule: CreatedRule,
  { owner, deadline }: { owner: Owner; deadline: Deadline },
): Promise<Pick<CreatedRule, 'stops' | 'stops_of_others' | 'stops_cut'>> {
  const isForOrg = rule.identity_id === null;
  try {
    const { stops, ofOthers, isCut } = await findStopped(
      lookups,
      { owner, services: listServices(registry, { owner, isForOrg }, deadline) },
      { pattern: compilePattern(rule.pattern, false), riskAtLeast: rule.risk_at_least, deadline },
    );
    return {
      stops,
      ...(isForOrg ? { stops_of_others: ofOthers } : {}),
      ...(isCut ? { stops_cut: true } : {}),
    };
  } catch (error) {
    logger.warn({ err: error, ruleId: rule.id }, 'not known what a rule stops');
    return {};
  }
}

/** What the rule's owner can call; of a rule for the whole org also what other members have. */
async function* listServices(
  registry: Deps['registry'],
  { owner, isForOrg }: { owner: Owner; isForOrg: boolean },
  deadline: Deadline,
): AsyncIterable<ServiceRecord> {
  for (const whose of isForOrg ? (['callable', 'others'] as const) : (['callable'] as const)) {
    let after: string | null = null;
    do {
      const page: Connected = await registry.listConnected({ ...owner, whose, after }, deadline);
      yield* page.services.filter(({ status }) => status !== 'disabled');
      after = page.next;
    } while (after !== null);
  }
}

type Connected = Awaited<ReturnType<Deps['registry']['listConnected']>>;

/** Agents never write what gates them, and auditors change nothing. */
function checkMayWrite(caller: Principal): void {
  if (caller.kind === 'user' && caller.role !== 'auditor') return;
  throw new AppError(
    'forbidden',
    caller.kind === 'user'
      ? 'An auditor changes nothing. Ask an admin to make the rule.'
      : 'Agents make no rules. Ask for an approval that is remembered instead.',
  );
}

/** The chain of the identity the rule is for; empty for the org. */
async function findPlace(
  { auth }: Deps,
  { caller, signed, identityId }: { caller: Principal; signed: string; identityId: string | null },
  deadline: Deadline,
): Promise<readonly ChainLink[]> {
  if (identityId === null) {
    if (caller.role === 'admin') return [];
    throw new AppError('forbidden', 'Only an admin makes rules for the whole org.');
  }
  // In this order: what may not be seen is refused in the words for what does not exist.
  await auth.getIdentity({ principal: signed, id: identityId }, deadline);
  const { chain } = await auth.getChain({ orgId: caller.orgId, identityId }, deadline);
  if (caller.role !== 'admin' && chain[0]?.id !== caller.userId) {
    throw new AppError('not_found', 'There is no such identity among yours.');
  }
  return chain;
}
