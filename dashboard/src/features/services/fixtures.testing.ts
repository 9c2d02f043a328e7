import type { ConnectedService } from '#contracts/http/services';

/** A ready service of a person. Each test overrides the fields that it checks. */
export function aService(differences: Partial<ConnectedService> = {}): ConnectedService {
  return {
    id: '0199c0de-0000-7000-8000-000000000001',
    name: 'github',
    template: 'github',
    template_tier: 'global',
    template_version: 1,
    newest_version: 1,
    title: 'GitHub',
    status: 'ready',
    actions_count: 12,
    tier: 'user',
    owner_id: 'ann',
    base_url: 'https://api.github.com',
    hosts: ['api.github.com'],
    auto_allow_reads: true,
    credentials: { secrets: { token: 'github_token' }, connection: null },
    created_at: '2026-05-01T10:00:00.000Z',
    ...differences,
  };
}
