import { callTool, postMcp } from '../../../gateway/mcp/clients.testing.ts';
import { withKey } from '../../support/http.ts';
import type { Reply } from '../../support/http.ts';
import type { Agent } from '../support/world.ts';

/** One way in which an agent reaches the gateway. */
export interface Way {
  readonly by: string;
  readonly call: (call: object) => Promise<Answer>;
  readonly resolve: (approvalId: string, decision: object) => Promise<Answer>;
}

/** What came back, in one word: the `status` of a result, or the code of an error. */
export interface Answer {
  readonly told: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- looked at field by field
  readonly body: any;
}

/** REST and MCP, each with the agent's key and with the access token of a client bound to it. */
export function waysOf(url: string, { key }: Pick<Agent, 'key'>, token?: string): Way[] {
  const credentials = [['key', key] as const, ...(token ? [['token', token] as const] : [])];
  return credentials.flatMap(([name, credential]) => [
    byRest(url, name, credential),
    byMcp(url, name, credential),
  ]);
}

function byRest(url: string, name: string, credential: string): Way {
  const caller = withKey(url, credential);
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
    call: (call) => useTool(url, credential, 'service_call', call),
    resolve: (approval_id, decision) =>
      useTool(url, credential, 'service_approve', { approval_id, ...decision }),
  };
}

export function restAnswer({ body }: Pick<Reply, 'body'>): Answer {
  return { told: body.error ?? body.status, body };
}

/** Refused before it is a tool call, the code of JSON-RPC is what it tells. */
export async function useTool(
  url: string,
  credential: string,
  tool: string,
  given: object,
): Promise<Answer> {
  const { body: reply } = await postMcp(url, credential, { body: callTool(tool, given) });
  const body = reply.result?.structuredContent ?? reply.error?.data ?? {};
  return { told: body.error ?? body.status ?? String(reply.error?.code), body };
}
