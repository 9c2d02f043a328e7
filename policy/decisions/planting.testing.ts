import { v7 as newId } from 'uuid';

import type { DecisionStatement } from '#contracts/decision';
import type { Gap } from '#contracts/permit';
import { splitKey } from '#permission-key';
import { chainOf } from '../world.testing.ts';
import type { TestIdentity, PolicyWorld } from '../world.testing.ts';

interface DecisionToSign {
  /** The identity on which the decision creates rules. */
  readonly on: TestIdentity;
  /** The identity that decides. */
  readonly by: TestIdentity;
  /** The remembered patterns. A pattern is exact if it is a permission key of the call. */
  readonly patterns: readonly { readonly pattern: string; readonly exact: boolean }[];
  readonly serviceId?: string | null;
  /** If set, the requester `on` made the decision itself, through the OAuth client with this id. */
  readonly selfClientId?: string;
  readonly approvalId?: string;
  readonly expiresAt?: number | null;
}

/**
 * Signs a permission gap and a decision on it. From this decision, policy creates the described
 * rules.
 */
export function signPlanting(
  world: PolicyWorld,
  { on, by, patterns, serviceId = null, selfClientId, approvalId, expiresAt }: DecisionToSign,
): { gap: string; decision: string } {
  const isSelf = selfClientId !== undefined;
  const subagentLink = {
    id: newId(),
    kind: 'subagent' as const,
    name: 'asks',
    inheritPermissions: false,
  };
  const links = [...chainOf(by).map(chainLinkOf), ...(isSelf ? [] : [subagentLink])];
  const exact = patterns.filter((each) => each.exact).map(({ pattern }) => pattern);
  const keys = exact.length > 0 ? exact : patterns.map(({ pattern }) => exampleKeyOf(pattern));
  const gap: Gap = {
    orgId: on.orgId,
    userId: links[0]?.id ?? '',
    identityId: links.at(-1)?.id ?? '',
    chain: links,
    credential: { kind: 'agent_key', id: newId(), clientId: null },
    callDigest: 'c'.repeat(64),
    idempotencyKey: null,
    injections: [],
    hosts: ['h.example'],
    target:
      serviceId === null
        ? { kind: 'raw' }
        : {
            kind: 'verb',
            service: 'github',
            serviceId,
            baseUrl: 'https://h.example',
            template: { key: 'github', tier: 'global', ownerId: null, version: 1 },
          },
    templateDigest: null,
    keys,
    uncoveredKeys: keys,
    risk: 'write',
    nonRead: true,
    description: 'Something',
    derivedKeys: keys.map((key) => ({ key, ...(splitKey(key) ?? failUnexpectedly()) })),
    jti: newId(),
    suggestedTiers: [{ keys: patterns.map(({ pattern }) => pattern), description: 'All of it' }],
    placement: { id: on.id, kind: on.kind, name: on.name },
    ladder: [{ ...chainLinkOf(chainOf(by)[0] ?? by), covers: true }].map(
      ({ id, kind, name, covers }) => ({ id, kind, name, covers }),
    ),
    lookUpsAllowed: false,
    autoCallOnApprove: true,
    issuedAt: Date.now(),
  };
  const statement: Partial<DecisionStatement> = {
    resolution: 'allow_remember',
    patterns: patterns.map(({ pattern }) => pattern),
    expiresAt: expiresAt ?? (by.kind === 'user' && !isSelf ? null : Date.now() + 3_600_000),
    ...(approvalId === undefined ? {} : { approvalId }),
    ...(isSelf ? { as: 'self' as const, clientId: selfClientId } : {}),
  };
  return { gap: world.signGap(gap), decision: world.decision(gap, by, statement) };
}

function exampleKeyOf(pattern: string): string {
  return pattern.replaceAll('*', 'x');
}

function chainLinkOf({ id, kind, name, inheritPermissions }: TestIdentity) {
  return { id, kind, name, inheritPermissions };
}

function failUnexpectedly(): never {
  throw new Error('a pattern has three segments');
}
