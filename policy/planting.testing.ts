import { v7 as newId } from 'uuid';

import type { DecisionStatement } from '#contracts/decision';
import type { Gap } from '#contracts/permit';
import { splitKey } from '#permission-key';
import { chainOf } from './world.testing.ts';
import type { TestIdentity, PolicyWorld } from './world.testing.ts';

interface Remembered {
  /** Where the rules go. */
  readonly on: TestIdentity;
  /** Who allowed. */
  readonly by: TestIdentity;
  /** Those that are to be exact are keys of the call. */
  readonly patterns: readonly { readonly pattern: string; readonly exact: boolean }[];
  readonly serviceId?: string | null;
  /** Set: the requester, which is `on`, decided for itself by this client. */
  readonly selfClientId?: string;
  readonly approvalId?: string;
  readonly expiresAt?: number | null;
}

/** The gap and the decision by which such rules are planted, each as signed. */
export function rememberedBy(
  world: PolicyWorld,
  { on, by, patterns, serviceId = null, selfClientId, approvalId, expiresAt }: Remembered,
): { gap: string; decision: string } {
  const isSelf = selfClientId !== undefined;
  const self = { id: newId(), kind: 'subagent' as const, name: 'asks', inheritPermissions: false };
  const links = [...chainOf(by).map(linkOf), ...(isSelf ? [] : [self])];
  const exact = patterns.filter((each) => each.exact).map(({ pattern }) => pattern);
  const keys = exact.length > 0 ? exact : patterns.map(({ pattern }) => keyUnder(pattern));
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
    derivedKeys: keys.map((key) => ({ key, ...(splitKey(key) ?? never()) })),
    jti: newId(),
    suggestedTiers: [{ keys: patterns.map(({ pattern }) => pattern), description: 'All of it' }],
    placement: { id: on.id, kind: on.kind, name: on.name },
    ladder: [{ ...linkOf(chainOf(by)[0] ?? by), covers: true }].map(
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

function keyUnder(pattern: string): string {
  return pattern.replaceAll('*', 'x');
}

function linkOf({ id, kind, name, inheritPermissions }: TestIdentity) {
  return { id, kind, name, inheritPermissions };
}

function never(): never {
  throw new Error('a pattern has three segments');
}
