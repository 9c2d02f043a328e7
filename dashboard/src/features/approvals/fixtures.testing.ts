import type { ApprovalResponse } from '#contracts/http/approvals';

/**
 * An open approval, as its user gets it from the API. Each test overrides the fields that it
 * checks.
 */
export function anApproval(differences: Partial<ApprovalResponse> = {}): ApprovalResponse {
  return {
    id: '0199c0de-0000-7000-8000-000000000001',
    status: 'pending',
    relationship: 'downstream',
    risk: 'med',
    permission_keys: ['github:create_issue:acme/site'],
    suggested_tiers: [
      { keys: ['github:create_issue:acme/site'], description: 'This action on acme/site' },
      { keys: ['github:create_issue:*'], description: 'This action on anything' },
    ],
    derived_keys: [],
    expires_at: '2026-05-02T10:00:00.000Z',
    requester: { id: 'agent', kind: 'agent', name: 'deploy-bot', path: ['ann', 'deploy-bot'] },
    resolver_id: 'ann',
    may_resolve: ['ann'],
    placement: { id: 'agent', kind: 'agent', name: 'deploy-bot' },
    service: 'github',
    template: 'github',
    action: 'create_issue',
    action_description: 'Create issue "Broken login" in acme/site',
    request: {
      method: 'POST',
      url: 'https://api.github.com/repos/acme/site/issues',
      params: { repository: 'acme/site', title: 'Broken login' },
      headers: {},
      content_type: 'application/json',
      credentials: [],
      body: { title: 'Broken login' },
    },
    disclosed: [{ label: 'Title', value: 'Broken login', truncated: false }],
    reason: null,
    created_at: '2026-05-01T10:00:00.000Z',
    resolved_at: null,
    resolved_by: null,
    resolution: null,
    auto_call_on_approve: true,
    verified: true,
    ...differences,
  };
}
