import type { Me } from '#contracts/http/identities';
import type { RestCall } from './command.ts';
import type { Answer } from './output.ts';

/** `action-gateway whoami`: the caller's own identity. */
export async function showCaller({ api }: RestCall): Promise<Answer> {
  const me = await api.request<Me>('GET', '/v1/identities/me');
  return {
    data: { gateway: api.gateway, ...me },
    show: {
      facts: [
        ['gateway', api.gateway],
        ['signed in by', api.credential],
        ['identity', me.path.join('/')],
        ['name', me.display_name],
        ['kind', me.kind],
        ['role', me.role],
        ['org', me.org.name],
        ['scopes', me.scopes.join(' ')],
        ['status', me.status],
      ],
    },
  };
}
