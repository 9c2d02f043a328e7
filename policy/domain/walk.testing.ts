import type { ChainLink, IdentityKind } from '#contracts/vocabulary';
import { actionKey, compilePattern } from '#permission-key';
import { createDecisionBudget } from './denials.ts';
import type { WalkedCall } from './denials.ts';
import type { Rule, Standing, Standings } from './rules.ts';

/** A chain by name: `user`, then an agent, then subagents; a `+` marks those that inherit. */
export function chainOf(...names: string[]): ChainLink[] {
  return names.map((text, index) => ({
    id: text.replace('+', ''),
    name: text.replace('+', ''),
    kind: (['user', 'agent'] as const satisfies IdentityKind[])[index] ?? 'subagent',
    inheritPermissions: text.endsWith('+'),
  }));
}

let count = 0;

/** `allow github:*:*` on an identity; by its user unless said otherwise. */
export function ruleOn(
  identityId: string | null,
  text: `${'allow' | 'deny'} ${string}`,
  more: Partial<Rule> = {},
): Rule {
  const [effect, pattern = ''] = text.split(' ');
  count += 1;
  return {
    id: `rule-${count}`,
    identityId,
    effect: effect === 'deny' ? 'deny' : 'allow',
    pattern: compilePattern(pattern, false),
    serviceId: null,
    credentialId: null,
    riskAtLeast: null,
    viaClientId: null,
    creatorChain: ['ann'],
    expiresAtMs: null,
    ...more,
  };
}

export function standing(
  chain: ChainLink[],
  rules: readonly Rule[],
  selfApproving: string[] = [],
): Standing {
  return { chain, rules, selfApproving: new Set(selfApproving) };
}

export function standings(...all: Standing[]): Standings {
  return new Map(all.map((each) => [each.chain.at(-1)?.id ?? '', each]));
}

export const createIssue = actionKey('github', 'issues.create', 'acme/site');

/** `github:issues.create:acme/site`, a write. */
export function callOf(more: Partial<WalkedCall> = {}): WalkedCall {
  return {
    keys: [createIssue],
    risk: 'write',
    serviceId: 'service-1',
    credentialIds: ['secret-1'],
    isOpenRead: false,
    denyNames: [],
    budget: createDecisionBudget(),
    ...more,
  };
}
