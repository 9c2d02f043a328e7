import type { CreatedAgentKey, Identity } from '#contracts/http/identities';
import type { RestCall } from './command.ts';
import type { Answer } from './output.ts';
import { findId } from './resource-handlers.ts';
import { agents } from './resources.ts';
import { readTime } from './time.ts';

/**
 * `action-gateway agents add <name>`: creates an agent of the caller, or with `--parent` a
 * subagent.
 */
export async function addAgent({
  api,
  args: [name],
  options: { parent },
}: RestCall<{ readonly parent?: string }>): Promise<Answer> {
  const agent =
    parent === undefined
      ? await api.request<Identity>('POST', '/v1/identities/agents', { body: { name } })
      : await api.request<Identity>('POST', '/v1/identities/subagents', {
          body: { name, parent_id: await findId(api, agents, parent) },
        });
  const path = agent.path.join('/');
  return {
    data: agent,
    show: { facts: [['id', agent.id] as const, ['agent', path] as const] },
    note: `Make a key for it: ${api.spellCommand('keys', 'add', path)}`,
  };
}

interface KeyOptions {
  readonly name?: string;
  readonly expires?: string;
}

/**
 * `action-gateway keys add <agent>`: writes only the key to stdout, so that it can be redirected to
 * a file.
 */
export async function addKey({
  api,
  args: [agent],
  options: { name = 'command line', expires },
}: RestCall<KeyOptions>): Promise<Answer> {
  const expiresAt = readTime(expires, '--expires', 'from now');
  const id = await findId(api, agents, agent);
  const createdKey = await api.request<CreatedAgentKey>('POST', `/v1/identities/${id}/keys`, {
    body: { name, ...(expiresAt !== undefined && { expires_at: expiresAt }) },
  });
  return { data: createdKey, show: { text: createdKey.key }, note: 'This key is not shown again.' };
}
