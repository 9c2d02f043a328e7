import type { Secret } from '#contracts/http/secrets';
import { misuse } from '../refusal.ts';
import type { RestCall } from './command.ts';
import { askSecret, readStdin } from './input.ts';
import type { Answer } from './output.ts';

interface SetOptions {
  readonly host?: readonly string[];
  readonly org?: true;
  readonly description?: string;
  readonly asIs?: true;
}

/**
 * `action-gateway secrets set <name>`: stores a value, as the next version if the secret exists.
 * The person types the value without seeing it, or the value comes from stdin without the line end
 * after it. It cannot be an argument, because other users of the machine would see it and the shell
 * would keep it.
 */
export async function setSecret({
  api,
  args: [name = ''],
  options: { host, org, description, asIs },
}: RestCall<SetOptions>): Promise<Answer> {
  // A terminal shows what is typed unless it is told not to, also when stderr goes elsewhere.
  const value = process.stdin.isTTY
    ? await askSecret(`Value of ${name}: `)
    : (await readStdin()).replace(/\r?\n$/, '');
  if (value === '') throw misuse('The value is empty; nothing was stored.');
  const body = {
    name,
    value,
    ...(host !== undefined && { allowed_hosts: host }),
    ...(org !== undefined && { tier: 'org' }),
    ...(description !== undefined && { description }),
    ...(asIs !== undefined && { as_is: true }),
  };
  const secret = await api.request<Secret>('POST', '/v1/secrets', { body });
  const hosts = secret.allowed_hosts.join(', ');
  // docs/reference/credentials.md#where-a-credential-may-go
  const allowedHostsText =
    hosts === ''
      ? 'any host to which a rule or a person lets a raw call send it: --host names the only ones'
      : hosts;
  return {
    data: secret,
    show: {
      text: `${secret.name} has version ${secret.current_version}, for ${allowedHostsText}.`,
    },
  };
}
