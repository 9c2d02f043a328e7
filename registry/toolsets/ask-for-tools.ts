import type { Deadline } from '#bus';
import type { CompiledTemplate } from '#contracts/template';
import type { Tier } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import type { ReadTool } from '../compiler/domain/tool-action.ts';

/** The tools that an MCP server offers, read and checked. */
export interface OfferedTools {
  readonly protocolVersion: string;
  readonly tools: readonly ReadTool[];
}

/** The service whose MCP server is asked. It need not be stored yet. */
interface AskedService {
  readonly orgId: string;
  readonly tier: Tier;
  readonly ownerId: string | null;
  readonly baseUrl: string;
  readonly secrets: Readonly<Record<string, string>>;
  readonly connection: string | null;
}

/**
 * Asks the MCP server of a service for its tools. The request has the same credential as the
 * service's calls.
 */
export async function askForTools(
  { executor, readTools }: Pick<Deps, 'executor' | 'readTools'>,
  { service, template }: { service: AskedService; template: CompiledTemplate },
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
  return { protocolVersion, tools: await readTools(tools, { owner: ownerId ?? orgId }) };
}

function credentialOf({ secrets, connection }: AskedService, { auth: [method] }: CompiledTemplate) {
  if (method?.type === 'oauth2') {
    return connection === null ? null : { kind: 'connection' as const, reference: connection };
  }
  const reference = method === undefined ? undefined : secrets[method.scheme];
  return reference === undefined ? null : { kind: 'secret' as const, reference };
}
