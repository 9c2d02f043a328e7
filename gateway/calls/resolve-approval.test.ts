import { randomUUID } from 'node:crypto';

import { expect, test } from 'vitest';

import { deadlineIn } from '#bus';
import { showApproval, titledService } from '#contracts/card';
import type { Card, StoredApproval } from '#contracts/card';
import type { ProposedDecision } from '#contracts/decision';
import type { ResolveApprovalBody } from '#contracts/http/approvals';
import { createMacs } from '#signing';
import { resolveApproval } from './resolve-approval.ts';
import type { ResolveRequest } from './resolve-approval.ts';

// The stored approvals in these tests are what a compromised approvals component could return.

const cards = createMacs('card', 'CANARY-card-key-of-these-tests');
const keys = ['github:issues.create:acme/site'];
const proof = { gapDigest: 'a'.repeat(64), requestDigest: 'b'.repeat(64) };

function createStoredApproval(id: string, tooLarge: boolean): StoredApproval {
  const shownApproval = {
    risk: 'med' as const,
    permission_keys: keys,
    suggested_tiers: [{ keys, description: 'This repository' }],
    action_description: 'Create an issue',
    request: {
      method: 'POST',
      url: 'https://h.example/',
      params: {},
      headers: {},
      body: null,
      content_type: null,
      credentials: [],
      ...(tooLarge ? { too_large: true as const } : {}),
    },
    disclosed: [],
  };
  const requester = { id: randomUUID(), kind: 'agent' as const, name: 'bot', path: ['ann', 'bot'] };
  const placement = { id: requester.id, kind: 'agent' as const, name: 'bot' };
  const approvalFacts = {
    requester,
    placement,
    service: 'github',
    template: 'github',
    action: 'issues.create',
    derived_keys: keys.map((key) => ({
      key,
      service: 'github',
      action: 'issues.create',
      arg: 'acme/site',
    })),
    auto_call_on_approve: true,
    created_at: new Date(0).toISOString(),
  };
  const card: Card = {
    approval_id: id,
    gap_digest: proof.gapDigest,
    request_digest: proof.requestDigest,
    ...approvalFacts,
    ...shownApproval,
  };
  return {
    id,
    status: 'pending',
    relationship: 'downstream',
    ...approvalFacts,
    ...shownApproval,
    resolver_id: randomUUID(),
    may_resolve: [],
    reason: null,
    resolved_at: null,
    resolved_by: null,
    resolution: null,
    expires_at: new Date(0).toISOString(),
    proof: { ...proof, mac: cards.toMac(card) },
  };
}

/**
 * Allows the approval. Returns the decisions that auth was asked to sign, and the answer to the
 * caller.
 */
async function allow(storedApproval: StoredApproval, requestChanges: Partial<ResolveRequest> = {}) {
  const signedDecisions: ProposedDecision[] = [];
  const deps = {
    cards,
    approvals: { get: async () => storedApproval, resolve: async () => storedApproval },
    auth: {
      signDecision: async ({ proposed }: { proposed: ProposedDecision }) => {
        signedDecisions.push(proposed);
        return { decision: 'signed' };
      },
    },
  } as unknown as Parameters<typeof resolveApproval>[0];
  const resolveRequest: ResolveRequest = {
    principal: 'signed',
    credential: { kind: 'session', token: 'CANARY-session' },
    id: storedApproval.id,
    as: 'ancestor',
    body: { resolution: 'allow' },
    context: { requestId: 'r1', traceId: null, ip: '192.0.2.1' },
    ...requestChanges,
  };
  const answer = await resolveApproval(deps, resolveRequest, deadlineIn(1_000)).catch(
    ({ code }: { code: string }) => code,
  );
  return { signed: signedDecisions, answer };
}

test('auth signs an allow only if the approval card is genuine and belongs to the requested approval', async () => {
  const storedApproval = createStoredApproval(randomUUID(), false);
  expect((await allow(storedApproval)).signed).toHaveLength(1);
  expect(await allow(storedApproval, { id: randomUUID() })).toEqual({
    signed: [],
    answer: 'card_not_verified',
  });
  expect(await allow({ ...storedApproval, id: randomUUID() })).toEqual({
    signed: [],
    answer: 'card_not_verified',
  });
});

test.for<Partial<StoredApproval>>([
  { service: 'calendar' },
  { template: null },
  { action: 'issues.get' },
  { derived_keys: [] },
  { auto_call_on_approve: false },
  { created_at: new Date(1).toISOString() },
])(
  'auth does not sign an allow if the approval card is genuine but approvals has changed other fields to %j',
  async (changed) => {
    expect(await allow({ ...createStoredApproval(randomUUID(), false), ...changed })).toEqual({
      signed: [],
      answer: 'card_not_verified',
    });
  },
);

test('an approval without a signed card is marked earlier_version, and an approval with a wrong card is marked changed', () => {
  const storedApproval = createStoredApproval(randomUUID(), false);
  const { verified, unverified } = showApproval(storedApproval, cards);
  expect({ verified, unverified }).toEqual({ verified: true, unverified: undefined });
  expect(showApproval({ ...storedApproval, proof: null }, cards)).toMatchObject({
    verified: false,
    unverified: 'earlier_version',
  });
  for (const changed of [
    { ...storedApproval, risk: 'low' as const },
    { ...storedApproval, id: randomUUID() },
  ]) {
    expect(showApproval(changed, cards, storedApproval.id)).toMatchObject({
      verified: false,
      unverified: 'changed',
    });
  }
});

test.for<[what: string, body: ResolveApprovalBody, as: ResolveRequest['as'], count: number]>([
  ['refuses to sign an allow without acknowledge', { resolution: 'allow' }, 'ancestor', 0],
  [
    'refuses to sign an allow that would be remembered',
    { resolution: 'allow_always', acknowledge: 'too_large' },
    'ancestor',
    0,
  ],
  [
    'refuses to sign an allow by the requester itself',
    { resolution: 'allow', acknowledge: 'too_large' },
    'self',
    0,
  ],
  [
    'signs an allow with acknowledge',
    { resolution: 'allow', acknowledge: 'too_large' },
    'ancestor',
    1,
  ],
])('if a request is too large to be shown whole, auth %s', async ([, body, as, count]) => {
  const { signed } = await allow(createStoredApproval(randomUUID(), true), { body, as });
  expect(signed).toHaveLength(count);
});

test('the title of the service is shown only if the executor signed it for this approval', () => {
  const id = randomUUID();
  const storedApproval = { ...createStoredApproval(id, false), service_title: 'GitHub' };
  const macOf = (approvalId: string, title: string) =>
    cards.toMac(titledService(approvalId, title));
  const showWithTitleMac = (titleMac: string | undefined) =>
    showApproval({ ...storedApproval, title_mac: titleMac }, cards);

  expect(showWithTitleMac(macOf(id, 'GitHub'))).toMatchObject({
    verified: true,
    service_title: 'GitHub',
  });
  expect(showWithTitleMac(macOf(id, 'GitHub'))).not.toHaveProperty('title_mac');
  for (const mac of [undefined, macOf(id, 'Notes'), macOf(randomUUID(), 'GitHub')]) {
    const approval = showWithTitleMac(mac);
    expect(approval).toMatchObject({ verified: true, service: 'github' });
    expect(approval).not.toHaveProperty('service_title');
  }
});
