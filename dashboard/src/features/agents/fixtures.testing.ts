import type { Identity } from '#contracts/http/identities';
import type { Rule } from '#contracts/http/rules';

const createdAt = '2026-01-01T00:00:00.000Z';

/** An identity whose id is the last name of the path. Its owner is the first name of the path. */
export function createIdentity(path: string, more: Partial<Identity> = {}): Identity {
  const names = path.split('/');
  const id = names.at(-1) ?? '';
  return {
    id,
    org_id: 'org',
    kind: (['user', 'agent'] as const)[names.length - 1] ?? 'subagent',
    name: id,
    parent_id: names.at(-2) ?? null,
    owner_id: names[0] ?? '',
    depth: names.length - 1,
    path: names,
    inherit_permissions: false,
    auto_call_on_approve: true,
    status: 'active',
    created_at: createdAt,
    last_active_at: null,
    expires_at: null,
    ...more,
  };
}

export function createRule(id: string, more: Partial<Rule> = {}): Rule {
  return {
    id,
    org_id: 'org',
    identity_id: null,
    effect: 'allow',
    pattern: 'github:create_issue:acme/site',
    exact: false,
    service_id: null,
    credential_id: null,
    risk_at_least: null,
    via: null,
    created_by: 'ann',
    approval_id: null,
    expires_at: null,
    created_at: createdAt,
    last_used_at: null,
    use_count: 0,
    ...more,
  };
}
