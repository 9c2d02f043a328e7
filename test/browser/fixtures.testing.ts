import type { ApprovalResponse } from '#contracts/http/approvals';
import type { Me } from '#contracts/http/identities';

const minuteMs = 60_000;
const at = (fromNowMs: number) => new Date(Date.now() + fromNowMs).toISOString();

export const ann: Me = {
  id: '0199c0de-0000-7000-8000-00000000000a',
  org_id: '0199c0de-0000-7000-8000-000000000001',
  kind: 'user',
  name: 'Ann Petrova',
  parent_id: null,
  owner_id: '0199c0de-0000-7000-8000-00000000000a',
  depth: 0,
  path: ['Ann Petrova'],
  inherit_permissions: false,
  auto_call_on_approve: true,
  status: 'active',
  created_at: '2026-05-01T08:00:00.000Z',
  last_active_at: null,
  expires_at: null,
  email: 'ann@acme.example',
  role: 'admin',
  org: { id: '0199c0de-0000-7000-8000-000000000001', name: 'Acme' },
  scopes: ['user'],
  credential: { kind: 'session', id: '0199c0de-0000-7000-8000-00000000000b' },
};

export const agentId = '0199c0de-0000-7000-8000-00000000000c';

let lastId = 0;

/**
 * An approval for an agent's call that creates an issue. Each test overrides the fields that it
 * checks.
 */
export function approvalOfIssue(differences: Partial<ApprovalResponse> = {}): ApprovalResponse {
  lastId += 1;
  return {
    id: `0199c0de-0000-7000-8000-00000001${String(lastId).padStart(4, '0')}`,
    status: 'pending',
    relationship: 'downstream',
    risk: 'med',
    permission_keys: ['github:create_issue:acme/site'],
    suggested_tiers: [
      {
        keys: ['github:create_issue:acme/site'],
        description: 'create_issue on github for acme/site only',
      },
      { keys: ['github:create_issue:*'], description: 'create_issue on github for anything' },
      { keys: ['github:*:*'], description: 'Every action of github' },
    ],
    derived_keys: [
      {
        key: 'github:create_issue:acme/site',
        service: 'github',
        action: 'create_issue',
        arg: 'acme/site',
      },
    ],
    expires_at: at(23 * 60 * minuteMs + 41 * minuteMs),
    requester: {
      id: agentId,
      kind: 'agent',
      name: 'deploy-bot',
      path: ['Ann Petrova', 'deploy-bot'],
    },
    resolver_id: ann.id,
    may_resolve: [ann.id],
    placement: { id: agentId, kind: 'agent', name: 'deploy-bot' },
    service: 'github',
    template: 'github',
    action: 'create_issue',
    action_description: 'Create issue "Sign-in page fails on Safari 18" in acme/site',
    request: {
      method: 'POST',
      url: 'https://api.github.com/repos/acme/site/issues',
      headers: { accept: 'application/vnd.github+json' },
      content_type: 'application/json',
      credentials: [
        {
          kind: 'connection',
          name: 'github',
          account: 'acme-bot',
          in: 'header',
          key: 'Authorization',
          prefix: 'Bearer ',
        },
      ],
      params: {
        repository: 'acme/site',
        title: 'Sign-in page fails on Safari 18',
        body: 'Steps:\n1. Open /sign-in\n2. Press the button\n\nExpected: signed in.\nSeen: a blank page.',
        labels: ['bug', 'login'],
      },
      body: {
        title: 'Sign-in page fails on Safari 18',
        body: 'Steps:\n1. Open /sign-in\n2. Press the button\n\nExpected: signed in.\nSeen: a blank page.',
        labels: ['bug', 'login'],
      },
    },
    disclosed: [
      { label: 'Repository', value: 'acme/site', truncated: false },
      { label: 'Title', value: 'Sign-in page fails on Safari 18', truncated: false },
      {
        label: 'Text',
        value:
          'Steps:\n1. Open /sign-in\n2. Press the button\n\nExpected: signed in.\nSeen: a blank page.',
        truncated: false,
      },
      { label: 'Labels', value: 'bug, login', truncated: false },
    ],
    reason: null,
    created_at: at(-4 * minuteMs),
    resolved_at: null,
    resolved_by: null,
    resolution: null,
    auto_call_on_approve: true,
    verified: true,
    ...differences,
  };
}

/**
 * An approval for a call by full URL that deletes something. A subagent of the same agent makes the
 * call.
 */
export function approvalOfDeletion(differences: Partial<ApprovalResponse> = {}): ApprovalResponse {
  return approvalOfIssue({
    risk: 'high',
    permission_keys: [
      'http:DELETE:api.storage.example/v1/buckets/backups/objects/2026-04-30.tar',
      'secret:storage_token:api.storage.example',
    ],
    suggested_tiers: [
      {
        keys: [
          'http:DELETE:api.storage.example/v1/buckets/backups/objects/2026-04-30.tar',
          'secret:storage_token:api.storage.example',
        ],
        description: 'Exactly this request, with the secret storage_token',
      },
      {
        keys: ['http:DELETE:api.storage.example/**', 'secret:storage_token:api.storage.example'],
        description: 'DELETE anything on api.storage.example, with the secret storage_token',
      },
    ],
    requester: {
      id: '0199c0de-0000-7000-8000-00000000000d',
      kind: 'subagent',
      name: 'cleaner',
      path: ['Ann Petrova', 'deploy-bot', 'cleaner'],
    },
    placement: {
      id: '0199c0de-0000-7000-8000-00000000000d',
      kind: 'subagent',
      name: 'cleaner',
    },
    may_resolve: [ann.id, agentId],
    service: 'http',
    template: null,
    action: 'DELETE',
    action_description: 'DELETE api.storage.example/v1/buckets/backups/objects/2026-04-30.tar',
    request: {
      method: 'DELETE',
      url: 'https://api.storage.example/v1/buckets/backups/objects/2026-04-30.tar?force=true&reason=older%20than%20a%20day',
      params: {},
      headers: {},
      content_type: null,
      body: null,
      credentials: [
        {
          kind: 'secret',
          name: 'storage_token',
          in: 'header',
          key: 'Authorization',
          prefix: 'Bearer ',
        },
      ],
    },
    disclosed: [],
    created_at: at(-1 * minuteMs),
    expires_at: at(4 * minuteMs + 7_000),
    ...differences,
  });
}

export function approvalOfRead(differences: Partial<ApprovalResponse> = {}): ApprovalResponse {
  return approvalOfIssue({
    risk: 'low',
    action: 'search_messages',
    service: 'mail',
    template: 'mail',
    action_description: 'Search messages for "invoice 2026" in every folder of the shared mailbox',
    permission_keys: ['mail:search_messages:*'],
    resolver_id: agentId,
    request: {
      method: 'GET',
      url: 'https://mail.example/v1/messages?q=invoice+2026&folder=all',
      params: { q: 'invoice 2026', folder: 'all' },
      headers: {},
      content_type: null,
      body: null,
      credentials: [],
    },
    disclosed: [],
    ...differences,
  });
}
