import { randomUUID } from 'node:crypto';

import { expect, test } from 'vitest';

import { deadlineIn } from '#bus';
import { showApproval } from '#contracts/card';
import type { Card, StoredApproval } from '#contracts/card';
import type { ProposedDecision } from '#contracts/decision';
import type { ResolveApprovalBody } from '#contracts/http/approvals';
import { createMacs } from '#signing';
import { resolveApproval } from './allow.ts';
import type { Resolving } from './allow.ts';

// These are answers of a compromised approvals component, which enforces nothing itself.

const cards = createMacs('card', 'CANARY-card-key-of-these-tests');
const keys = ['github:issues.create:acme/site'];
const proof = { gapDigest: 'a'.repeat(64), requestDigest: 'b'.repeat(64) };

function storedUnder(id: string, tooLarge: boolean): StoredApproval {
  const shown = {
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
  const facts = {
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
    ...facts,
    ...shown,
  };
  return {
    id,
    status: 'pending',
    relationship: 'downstream',
    ...facts,
    ...shown,
    resolver_id: randomUUID(),
    may_resolve: [],
    reason: null,
    resolved_at: null,
    resolved_by: null,
    resolution: null,
    expires_at: new Date(0).toISOString(),
    proof: { ...proof, mac: cards.of(card) },
  };
}

/** What auth was asked to sign for this decision; and what became of it. */
async function allow(stored: StoredApproval, more: Partial<Resolving> = {}) {
  const signed: ProposedDecision[] = [];
  const deps = {
    cards,
    approvals: { get: async () => stored, resolve: async () => stored },
    auth: {
      signDecision: async ({ proposed }: { proposed: ProposedDecision }) => {
        signed.push(proposed);
        return { decision: 'signed' };
      },
    },
  } as unknown as Parameters<typeof resolveApproval>[0];
  const resolving: Resolving = {
    principal: 'signed',
    credential: { kind: 'session', token: 'CANARY-session' },
    id: stored.id,
    as: 'ancestor',
    body: { resolution: 'allow' },
    context: { requestId: 'r1', traceId: null, ip: '192.0.2.1' },
    ...more,
  };
  const answer = await resolveApproval(deps, resolving, deadlineIn(1_000)).catch(
    ({ code }: { code: string }) => code,
  );
  return { signed, answer };
}

test('an allow is signed for the card that holds under the id that was asked for', async () => {
  const stored = storedUnder(randomUUID(), false);
  expect((await allow(stored)).signed).toHaveLength(1);
  expect(await allow(stored, { id: randomUUID() })).toEqual({
    signed: [],
    answer: 'card_not_verified',
  });
  expect(await allow({ ...stored, id: randomUUID() })).toEqual({
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
])('an allow of a genuine card around which approvals says %o is not signed', async (changed) => {
  expect(await allow({ ...storedUnder(randomUUID(), false), ...changed })).toEqual({
    signed: [],
    answer: 'card_not_verified',
  });
});

test('an approval of before there was a proof is told apart from a changed one', () => {
  const stored = storedUnder(randomUUID(), false);
  const { verified, unverified } = showApproval(stored, cards);
  expect({ verified, unverified }).toEqual({ verified: true, unverified: undefined });
  expect(showApproval({ ...stored, proof: null }, cards)).toMatchObject({
    verified: false,
    unverified: 'earlier_version',
  });
  for (const changed of [
    { ...stored, risk: 'low' as const },
    { ...stored, id: randomUUID() },
  ]) {
    expect(showApproval(changed, cards, stored.id)).toMatchObject({
      verified: false,
      unverified: 'changed',
    });
  }
});

test.for<[what: string, body: ResolveApprovalBody, as: Resolving['as'], count: number]>([
  ['unsaid', { resolution: 'allow' }, 'ancestor', 0],
  ['and remembered', { resolution: 'allow_always', acknowledge: 'too_large' }, 'ancestor', 0],
  ['by the requester', { resolution: 'allow', acknowledge: 'too_large' }, 'self', 0],
  ['with a word on it', { resolution: 'allow', acknowledge: 'too_large' }, 'ancestor', 1],
])('an allow of an outline %s is signed or not', async ([, body, as, count]) => {
  const { signed } = await allow(storedUnder(randomUUID(), true), { body, as });
  expect(signed).toHaveLength(count);
});
