import { describe, expect, test } from 'vitest';

import type { ApprovalResponse } from '#contracts/http/approvals';
import type { Me } from '#contracts/http/identities';
import type { OauthApp } from '#contracts/http/oauth-apps';
import type { ServiceRequest } from '#contracts/http/requests';
import type { TemplateDetail } from '#contracts/http/templates';
import type { Webhook } from '#contracts/http/webhooks';
import {
  missingAppsOf,
  orgRequestsOf,
  sinceOf,
  troublesOf,
  waitingItemsOf,
  webhookTroublesOf,
} from './home-view.ts';
import type { InstallationStatus } from './home-view.ts';

const mia = { id: 'mia-id', name: 'mia', role: 'member' } as Me;
const admin = { id: 'admin-id', name: 'admin', role: 'admin' } as Me;

const approvalOf = (fields: Partial<ApprovalResponse>) =>
  ({ status: 'pending', resolver_id: mia.id, risk: 'low', ...fields }) as ApprovalResponse;
const requestOf = (id: string, tier: 'user' | 'org', path: string[], at = '2026-11-02') =>
  ({ id, tier, requester: { path }, created_at: at }) as ServiceRequest;

describe('what waits for a person', () => {
  test('contains what only this person can answer, the riskiest first, then the oldest', () => {
    const approvals = [
      approvalOf({ id: 'new', created_at: '2026-11-03', risk: 'med' }),
      approvalOf({ id: 'old', created_at: '2026-11-01' }),
      approvalOf({ id: 'high', created_at: '2026-11-04', risk: 'high' }),
      approvalOf({ id: 'with an agent', created_at: '2026-11-01', resolver_id: 'agent' }),
      approvalOf({ id: 'decided', created_at: '2026-11-01', status: 'denied' }),
    ];
    const requests = [
      requestOf('own', 'user', ['mia', 'bot']),
      requestOf('of another', 'user', ['tom', 'bot']),
      requestOf('for admins', 'org', ['mia']),
    ];

    const items = waitingItemsOf(approvals, requests, mia);

    const ids = items.map((item) =>
      item.kind === 'approval' ? item.approval.id : item.request.id,
    );
    expect(ids).toEqual(['high', 'old', 'own', 'new']);
  });

  test('does not contain what members ask the org for, which admins see in a separate list', () => {
    const requests = [
      requestOf('second', 'org', ['mia'], '2026-11-02'),
      requestOf('first', 'org', ['tom', 'bot'], '2026-11-01'),
      requestOf('of mia alone', 'user', ['mia', 'bot']),
    ];

    expect(orgRequestsOf(requests, admin).map(({ id }) => id)).toEqual(['first', 'second']);
    expect(orgRequestsOf(requests, mia)).toEqual([]);
    expect(orgRequestsOf(requests, { ...admin, role: 'auditor' })).toEqual([]);
    expect(waitingItemsOf([], requests, admin)).toEqual([]);
  });
});

describe('the beginning of the period for which calls are counted', () => {
  const now = Date.parse('2026-11-24T12:00:00.000Z');

  test.for([
    [
      'the time of the previous visit',
      '2026-11-24T09:30:00.000Z',
      '2026-11-24T09:30:00.000Z',
      true,
    ],
    [
      'the first time with counts, if the previous visit was earlier',
      '2026-01-01T00:00:00.000Z',
      '2026-08-27T12:00:00.000Z',
      true,
    ],
    ['a week ago on a first visit', null, '2026-11-17T12:00:00.000Z', false],
    [
      'a week ago if the visit is in the future',
      '2026-11-25T00:00:00Z',
      '2026-11-17T12:00:00.000Z',
      false,
    ],
  ] as const)('is %s', ([, visit, since, isVisit]) => {
    expect(sinceOf(visit, now)).toEqual({ since, isVisit });
  });
});

test('an app is missing if a template can only be connected with an account and no provider of it has an app', () => {
  const account = (provider: string) => ({ kind: 'connection', provider });
  const templates = [
    { key: 'mail', ways: [[account('google')]] },
    { key: 'code', ways: [[account('github')], [{ kind: 'secret' }]] },
    { key: 'chat', ways: [[account('slack')]] },
    { key: 'open', ways: [] },
  ] as unknown as TemplateDetail[];
  const apps = [
    { provider: 'google', title: 'Google', source: 'none' },
    { provider: 'github', title: 'GitHub', source: 'none' },
    { provider: 'slack', title: 'Slack', source: 'org' },
  ] as OauthApp[];

  expect([...missingAppsOf(templates, apps)]).toEqual([['mail', 'Google']]);
});

test('the troubles contain each component, stream and consumer that does not work', () => {
  const status = {
    status: 'degraded',
    components: { auth: { status: 'ok' }, audit: { status: 'unavailable' } },
    streams: { AUDIT: { status: 'degraded' }, EVENTS: { status: 'unknown' } },
    consumers: { notifier: { status: 'behind' } },
  } as unknown as InstallationStatus;

  expect(troublesOf(status)).toEqual([
    'audit is unavailable',
    'the stream AUDIT is degraded',
    'notifier is behind with its events',
  ]);
});

test('the troubles contain the webhooks that the gateway has switched off, with the reason', () => {
  const webhookOf = (status: Webhook['status'], reason: string | null) =>
    ({ url: 'https://hooks.example/a?b', status, disabled_reason: reason }) as Webhook;
  const webhooks = [
    webhookOf('active', null),
    webhookOf('pending_verification', null),
    webhookOf('disabled', 'Every delivery has failed for 5 days.'),
  ];

  expect(webhookTroublesOf(webhooks)).toEqual([
    'the webhook to hooks.example is switched off: Every delivery has failed for 5 days.',
  ]);
});
