import type { policy } from '#contracts/bus/policy';
import type { Handlers } from '#bus';
import type { Call, CallOptions } from '#contracts/call';
import type { Decision } from '#contracts/audit';
import { platformActions, platformKey } from '#contracts/platform';
import type { PlatformActionName } from '#contracts/platform';
import { signedCharactersMax } from '#contracts/permit';
import { mayUseRoute } from '#contracts/scopes';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { digestOf } from '#signing';
import type { CallFacts } from '../calls/call-facts.ts';
import { invalidParamError } from '../calls/domain/invalid-params.ts';
import { establishFacts } from '../calls/establish-facts.ts';
import type { Deps } from '../deps.ts';
import { assessCall } from './assess-call.ts';
import type { Assessment } from './assess-call.ts';
import { denialReason } from './domain/denial.ts';
import { buildPermit } from './domain/statements.ts';
import type { WalkedKey } from './domain/walk.ts';
import { loadRulesByIdentity } from './load-chain-rules.ts';
import { statePermitContent, stateGap } from './state-gap.ts';

interface DecideRequest {
  readonly principal: string;
  readonly call: Call;
  readonly options: CallOptions;
}
type DecideReply = Awaited<ReturnType<Handlers<typeof policy>['decide']>>;

/**
 * Layer 3 of every call: establishes the facts of the call, and decides whether the call can work
 * and is allowed. Signs the answer and changes no state.
 */
export async function decideCall(
  deps: Deps,
  { principal: signed, call, options }: DecideRequest,
): Promise<DecideReply> {
  const caller = deps.readPrincipal(signed);
  if (caller.role === 'auditor') throw auditorRefused();
  // The digest is computed first, because it throws for values that are nested too deep. Other code
  // must not process such values.
  const callDigest = digestOf(call);
  const [rulesByIdentity, facts] = await Promise.all([
    loadRulesByIdentity(
      deps.lookups,
      caller.orgId,
      caller.chain.map(({ id }) => id),
    ),
    establishFacts(deps.lookups, caller, { call, options }),
  ]);
  requireScope(caller, facts);
  const { verdict, walked } = await assessCall(deps.lookups, rulesByIdentity, { facts, caller });
  const chain = rulesByIdentity.get(caller.identityId)?.chain ?? caller.chain;
  const decisionInput = { subject: caller, chain, facts, callDigest, options };
  const summary = summariseCall(facts);

  if (verdict.outcome === 'denied') {
    const reason = denialReason(verdict.denial, chain);
    deps.ruleUse.count(caller.orgId, verdict.denial.rule.id);
    logDecision(deps, caller, { granted: false, reason: 'denied', key: verdict.denial.key });
    return { outcome: 'denied', reason, ...summary };
  }
  if (verdict.outcome === 'gap') {
    const gap = await stateGap(deps, decisionInput, {
      rulesByIdentity,
      walked,
      keys: verdict.keys,
    });
    logDecision(deps, caller, { granted: false, reason: 'gap', key: gap.uncoveredKeys[0] });
    return { outcome: 'gap', gap: requireFit(deps.gapSigner.sign(gap)), ...summary };
  }
  const jti = deps.newId();
  const decision = toPermitDecision(verdict);
  if (verdict.outcome === 'allowed') countUses(deps, caller.orgId, verdict.keys);
  const permit = buildPermit(statePermitContent(decisionInput), {
    jti,
    now: deps.now(),
    decision,
    replay: null,
  });
  logDecision(deps, caller, { granted: true, reason: decision.by, key: permit.keys[0] });
  return {
    outcome: 'permit',
    permit: requireFit(deps.permitSigner.sign(permit)),
    auditId: jti,
    ...summary,
  };
}

/**
 * Throws for a permit or permission gap that other components would refuse as too long. Only long
 * permission keys make it so long. Several such keys come from the values of a list.
 */
function requireFit(signed: string): string {
  if (signed.length <= signedCharactersMax) return signed;
  const message = 'make permission keys that are too long together; give fewer or shorter values';
  throw invalidParamError('params', message);
}

/**
 * The ids of the rules that allowed the call, or `read` if the read allowance permitted the call.
 */
function toPermitDecision(
  verdict: Extract<Assessment['verdict'], { outcome: 'allowed' | 'user' | 'platform' | 'gap' }>,
): Decision {
  const noRuleIds = { rule_id: null, approval_id: null };
  if (!('keys' in verdict)) return { by: verdict.outcome, ...noRuleIds };
  const rules = new Set(
    verdict.keys.flatMap(({ cover }) => (cover?.by === 'rule' ? [cover.rule] : [])),
  );
  const allowedBy = [...rules].map(({ id, pattern }) => ({ rule_id: id, pattern: pattern.text }));
  const [first] = allowedBy;
  if (first === undefined) return { by: 'read', ...noRuleIds };
  return { by: 'rule', rule_id: first.rule_id, approval_id: null, allowed_by: allowedBy };
}

function countUses({ ruleUse }: Deps, orgId: string, keys: readonly WalkedKey[]): void {
  for (const { cover } of keys) if (cover?.by === 'rule') ruleUse.count(orgId, cover.rule.id);
}

function summariseCall(facts: CallFacts) {
  return {
    service: facts.service,
    template: facts.template,
    action: facts.action,
    permissionKeys: facts.keys.map(({ key }) => key),
    risk: facts.risk,
    nonRead: facts.nonRead,
    description: facts.description,
  };
}

/**
 * Throws unless the caller has the scope that the action needs. An action of `platform` needs the
 * scope of its REST route.
 */
function requireScope(caller: Principal, { template, action }: CallFacts): void {
  if (template !== platformKey) return;
  const { access } = platformActions[action as PlatformActionName];
  if (mayUseRoute(caller, access)) return;
  throw new AppError(
    'insufficient_scope',
    `This needs the scope ${access}; use a credential that has it.`,
    { details: { scope: access } },
  );
}

function auditorRefused(): AppError {
  return new AppError(
    'forbidden',
    'An auditor reads and makes no calls. Ask an admin for the role of a member.',
  );
}

/**
 * Logs denials and permission gaps. Permitted calls are not logged, because they are frequent and
 * the audit log has them anyway.
 */
function logDecision(
  { logger }: Deps,
  caller: Principal,
  { granted, reason, key }: { granted: boolean; reason: string; key: string | undefined },
): void {
  const fields = { granted, reason, permission_key: key, identityId: caller.identityId };
  if (granted) logger.debug(fields, 'call decided');
  else logger.info(fields, 'call decided');
}
