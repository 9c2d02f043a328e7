import { callTool, postMcp } from '../../../gateway/mcp/clients.testing.ts';
import type { Caller } from '../../support/http.ts';

type Resolution = 'allow' | 'allow_remember' | 'deny' | 'bubble';

/** What somebody who decides is told: the approval, or the error; and with which status of HTTP. */
export interface Verdict {
  readonly http: number;
  readonly error?: string;
  readonly status: string;
  readonly resolution: string | null;
  readonly resolved_by: { readonly id: string } | null;
  readonly resolved_at: string | null;
}

/** Somebody who may decide approvals, in one of the two ways to do it. */
export interface Resolver {
  readonly name: string;
  readonly id: string;
  readonly way: 'REST' | 'MCP';
  decide(approvalId: string, resolution: Resolution): Promise<Verdict>;
}

interface Who {
  readonly name: string;
  readonly id: string;
}

export function byRest(who: Who, caller: Caller): Resolver {
  return {
    ...who,
    way: 'REST',
    async decide(approvalId, resolution) {
      const path = `/v1/approvals/${approvalId}/resolve`;
      const { status, body } = await caller.post(path, decisionOf(resolution));
      return { http: status, ...body };
    },
  };
}

export function byMcp(who: Who, url: string, token: string): Resolver {
  return {
    ...who,
    way: 'MCP',
    async decide(approvalId, resolution) {
      const given = { approval_id: approvalId, ...decisionOf(resolution) };
      const { status, body } = await postMcp(url, token, {
        body: callTool('service_approve', given),
      });
      return { http: status, ...(body?.result?.structuredContent ?? body?.error?.data) };
    },
  };
}

/** Agents, and whoever uses MCP, must say how long to remember. */
function decisionOf(resolution: Resolution) {
  return { resolution, ...(resolution === 'allow_remember' && { ttl: '1h' }) };
}
