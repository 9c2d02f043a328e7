import type { DecisionWordName } from '#contracts/decision-words';
import { createToolCall, postMcp } from '../../gateway/mcp/clients.testing.ts';
import { sampleDecisions } from './decision-bodies.ts';
import type { Caller } from './http.ts';

/** The response to a decision: the approval or the error, and the HTTP status. */
export interface Verdict {
  readonly http: number;
  readonly error?: string;
  readonly status: string;
  readonly resolution: string | null;
  readonly resolved_by: { readonly id: string } | null;
  readonly resolved_at: string | null;
}

/** An identity that may decide approvals, and the protocol that it uses. */
export interface Resolver {
  readonly name: string;
  readonly id: string;
  readonly way: 'REST' | 'MCP';
  decide(approvalId: string, resolution: DecisionWordName): Promise<Verdict>;
}

interface NamedIdentity {
  readonly name: string;
  readonly id: string;
}

export function createRestResolver(namedIdentity: NamedIdentity, caller: Caller): Resolver {
  return {
    ...namedIdentity,
    way: 'REST',
    async decide(approvalId, resolution) {
      const path = `/v1/approvals/${approvalId}/resolve`;
      const { status, body } = await caller.post(path, sampleDecisions[resolution]);
      return { http: status, ...body };
    },
  };
}

export function createMcpResolver(
  namedIdentity: NamedIdentity,
  url: string,
  token: string,
): Resolver {
  return {
    ...namedIdentity,
    way: 'MCP',
    async decide(approvalId, resolution) {
      const givenDecision = { approval_id: approvalId, ...sampleDecisions[resolution] };
      const { status, body } = await postMcp(url, token, {
        body: createToolCall('service_approve', givenDecision),
      });
      return { http: status, ...(body?.result?.structuredContent ?? body?.error?.data) };
    },
  };
}
