import type { CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { resolveServer } from './servers.ts';

export interface ServiceAddress {
  readonly baseUrl: string;
  /** Where its credentials may go, the host of the base URL first. */
  readonly hosts: readonly string[];
}

interface AddressChoice {
  readonly variables: Readonly<Record<string, string>>;
  /** Given by an admin instead of the template's own server. */
  readonly baseUrl: string | undefined;
  readonly isPlainHttpAllowed: (host: string) => boolean;
}

/** Where the calls of a service go. */
export function addressOf(template: CompiledTemplate, choice: AddressChoice): ServiceAddress {
  const { server } = template;
  if (server === null) throw new AppError('not_found', `"${template.key}" cannot be connected.`);
  const resolved = resolveServer(server, choice);
  const others = choice.baseUrl === undefined ? template.hosts : [];
  return { baseUrl: resolved.baseUrl, hosts: [...new Set([resolved.host, ...others])] };
}
