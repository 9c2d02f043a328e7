import type { Deadline } from '#bus';
import type { CompiledTemplate } from '#contracts/template';
import type { Deps } from '../deps.ts';
import type { Service } from '../domain/service.ts';
import type { ReadTool } from '../domain/tool-action.ts';

/** What a server was found to offer, read for use. */
export interface OfferedTools {
  readonly protocolVersion: string;
  readonly tools: readonly ReadTool[];
}

type Asked = Pick<Service, 'orgId' | 'tier' | 'ownerId' | 'baseUrl' | 'secrets' | 'connection'>;

/** Asks the MCP server behind a service, with the credential that its calls carry. */
export async function askForTools(
  { executor, readTools }: Pick<Deps, 'executor' | 'readTools'>,
  { service, template }: { service: Asked; template: CompiledTemplate },
  deadline: Deadline,
): Promise<OfferedTools> {
  const { orgId, tier, ownerId, baseUrl } = service;
  const { protocolVersion, tools } = await executor.discoverTools(
    {
      orgId,
      userId: tier === 'org' ? null : ownerId,
      url: baseUrl + (template.mcp?.path ?? ''),
      credential: credentialOf(service, template),
    },
    deadline,
  );
  return { protocolVersion, tools: await readTools(tools) };
}

function credentialOf({ secrets, connection }: Asked, { auth: [method] }: CompiledTemplate) {
  if (method?.type === 'oauth2') {
    return connection === null ? null : { kind: 'connection' as const, reference: connection };
  }
  const reference = method === undefined ? undefined : secrets[method.scheme];
  return reference === undefined ? null : { kind: 'secret' as const, reference };
}
