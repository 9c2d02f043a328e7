import { createToolCall, postMcp } from '../../../gateway/mcp/clients.testing.ts';
import { createCallerWithKey } from '../../support/http.ts';
import type { Reply } from '../../support/http.ts';
import type { Agent } from '../../support/world.ts';

/** One way for an agent to call the gateway: a protocol and a credential. */
export interface Way {
  readonly by: string;
  readonly call: (call: object) => Promise<Answer>;
  readonly resolve: (approvalId: string, decision: object) => Promise<Answer>;
}

/** An answer, summarised in `outcome`: the `status` of a result, or an error code. */
export interface Answer {
  readonly outcome: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- looked at field by field
  readonly body: any;
}

/**
 * The ways in which an agent can call: REST and MCP, each with the agent's key and, if a token is
 * given, with the access token of an OAuth client that acts as the agent.
 */
export function waysOf(url: string, { key }: Pick<Agent, 'key'>, token?: string): Way[] {
  const credentials = [['key', key] as const, ...(token ? [['token', token] as const] : [])];
  return credentials.flatMap(([name, credential]) => [
    byRest(url, name, credential),
    byMcp(url, name, credential),
  ]);
}

function byRest(url: string, name: string, credential: string): Way {
  const caller = createCallerWithKey(url, credential);
  return {
    by: `REST, ${name}`,
    call: async (call) => restAnswer(await caller.post('/v1/actions/call', call)),
    resolve: async (id, decision) =>
      restAnswer(await caller.post(`/v1/approvals/${id}/resolve`, decision)),
  };
}

function byMcp(url: string, name: string, credential: string): Way {
  return {
    by: `MCP, ${name}`,
    call: (call) => callToolByMcp(url, credential, 'service_call', call),
    resolve: (approval_id, decision) =>
      callToolByMcp(url, credential, 'service_approve', { approval_id, ...decision }),
  };
}

export function restAnswer({ body }: Pick<Reply, 'body'>): Answer {
  return { outcome: body.error ?? body.status, body };
}

/**
 * If the server refuses the request before it runs the tool, `outcome` is the JSON-RPC error code.
 */
export async function callToolByMcp(
  url: string,
  credential: string,
  tool: string,
  given: object,
): Promise<Answer> {
  const { body: reply } = await postMcp(url, credential, { body: createToolCall(tool, given) });
  const body = reply.result?.structuredContent ?? reply.error?.data ?? {};
  return { outcome: body.error ?? body.status ?? String(reply.error?.code), body };
}
