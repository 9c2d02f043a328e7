import type { policy } from '#contracts/bus/policy';
import type { Handlers } from '#bus';
import type { Call, CallOptions } from '#contracts/call';
import type { Decision } from '#contracts/audit';
import { platformActions, platformKey } from '#contracts/platform';
import type { PlatformActionName } from '#contracts/platform';
import { mayUse } from '#contracts/scopes';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { digestOf } from '#signing';
import type { Deps } from '../deps.ts';
import { denialReason } from '../domain/denials.ts';
import { buildPermit } from '../domain/statements.ts';
import type { WalkedKey } from '../domain/walk.ts';
import { assess } from '../facts/assess.ts';
import type { Assessment } from '../facts/assess.ts';
import type { CallFacts } from '../facts/call-facts.ts';
import { establishFacts } from '../facts/establish-facts.ts';
import { loadStandings } from '../facts/standings.ts';
import { stateFacts, stateGap } from '../facts/state-facts.ts';

interface DecideRequest {
  readonly principal: string;
  readonly call: Call;
  readonly options: CallOptions;
}
type Decided = Awaited<ReturnType<Handlers<typeof policy>['decide']>>;

/**
 * Layer 3 of every call: what it is, whether it can work, and whether it is allowed. Signs the
 * answer; performs nothing.
 */
export async function decideCall(
  deps: Deps,
  { principal: signed, call, options }: DecideRequest,
): Promise<Decided> {
  const caller = deps.readPrincipal(signed);
  if (caller.role === 'auditor') throw auditorRefused();
  // Refuses what is nested too deep before anything walks through it.
  const callDigest = digestOf(call);
  const [standings, facts] = await Promise.all([
    loadStandings(
      deps.lookups,
      caller.orgId,
      caller.chain.map(({ id }) => id),
    ),
    establishFacts(deps.lookups, caller, { call, options }),
  ]);
  requireScope(caller, facts);
  const { verdict, walked } = await assess(deps.lookups, standings, { facts, caller });
  const chain = standings.get(caller.identityId)?.chain ?? caller.chain;
  const stated = { subject: caller, chain, facts, callDigest, options };
  const summary = summarise(facts);

  if (verdict.outcome === 'denied') {
    const reason = denialReason(verdict.denial, chain);
    log(deps, caller, { granted: false, reason: 'denied', key: verdict.denial.key });
    return { outcome: 'denied', reason, ...summary };
  }
  if (verdict.outcome === 'gap') {
    const gap = await stateGap(deps, stated, { standings, walked, keys: verdict.keys });
    log(deps, caller, { granted: false, reason: 'gap', key: gap.uncoveredKeys[0] });
    return { outcome: 'gap', gap: deps.gapSigner.sign(gap), ...summary };
  }
  const jti = deps.newId();
  const decision = decisionOf(verdict);
  if (verdict.outcome === 'allowed') countUses(deps, caller.orgId, verdict.keys);
  const permit = buildPermit(stateFacts(stated), { jti, now: deps.now(), decision, replay: null });
  log(deps, caller, { granted: true, reason: decision.by, key: permit.keys[0] });
  return {
    outcome: 'permit',
    permit: deps.permitSigner.sign(permit),
    auditId: jti,
    ...summary,
  };
}

/** The rules that let something through, as they read now; a call that needed none was a read. */
function decisionOf(
  verdict: Extract<Assessment['verdict'], { outcome: 'allowed' | 'user' | 'platform' | 'gap' }>,
): Decision {
  const none = { rule_id: null, approval_id: null };
  if (!('keys' in verdict)) return { by: verdict.outcome, ...none };
  const rules = new Set(
    verdict.keys.flatMap(({ cover }) => (cover?.by === 'rule' ? [cover.rule] : [])),
  );
  const allowedBy = [...rules].map(({ id, pattern }) => ({ rule_id: id, pattern: pattern.text }));
  const [first] = allowedBy;
  if (first === undefined) return { by: 'read', ...none };
  return { by: 'rule', rule_id: first.rule_id, approval_id: null, allowed_by: allowedBy };
}

function countUses({ ruleUse }: Deps, orgId: string, keys: readonly WalkedKey[]): void {
  for (const { cover } of keys) if (cover?.by === 'rule') ruleUse.count(orgId, cover.rule.id);
}

function summarise(facts: CallFacts) {
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

/** What the platform offers needs the scope that its REST route needs, whatever way it was asked for. */
function requireScope(caller: Principal, { template, action }: CallFacts): void {
  if (template !== platformKey) return;
  const { access } = platformActions[action as PlatformActionName];
  if (mayUse(caller, access)) return;
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

/** Grants are many and already in the audit log; what was not granted is worth a line. */
function log(
  { logger }: Deps,
  caller: Principal,
  { granted, reason, key }: { granted: boolean; reason: string; key: string | undefined },
): void {
  const fields = { granted, reason, permission_key: key, identityId: caller.identityId };
  if (granted) logger.debug(fields, 'call decided');
  else logger.info(fields, 'call decided');
}
