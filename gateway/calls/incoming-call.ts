import type { CallResult } from '#contracts/call';
import type { PendingApproval } from '#contracts/http/approvals';
import type { CallContext } from '#contracts/vocabulary';
import type { Caller } from '../authentication/caller.ts';
import type { Deps } from '../deps.ts';
import type { ParsedCall } from './domain/call-body.ts';

/** The outcome of a call, with the same form for REST and MCP. */
export type CallOutcome =
  | {
      readonly kind: 'called';
      readonly result: CallResult;
      readonly description: string;
      readonly auditId: string;
      /** The service; undefined after a resumption, which does not name the service. */
      readonly service?: string;
    }
  | { readonly kind: 'pending'; readonly envelope: PendingApproval }
  | { readonly kind: 'denied'; readonly reason: string; readonly approvalId: string | null };

export interface IncomingCall {
  /** Parses the request; throws `invalid_request`. */
  readonly parse: () => ParsedCall;
  /**
   * Authenticates the caller. A waiting call does so repeatedly, because a principal expires after
   * seconds.
   */
  readonly authenticate: () => Promise<Caller>;
  readonly waitMs: number;
  /** Aborts when the client disconnects. */
  readonly signal: () => AbortSignal;
  readonly context: CallContext;
}

export type CallDeps = Pick<
  Deps,
  | 'policy'
  | 'executor'
  | 'approvals'
  | 'publisher'
  | 'refusals'
  | 'auditShare'
  | 'feed'
  | 'announceDisconnect'
  | 'reportCall'
  | 'executors'
  | 'secondExecutions'
  | 'stopping'
  | 'logger'
>;

export type CallState = Awaited<
  ReturnType<CallDeps['approvals']['resume'] | CallDeps['approvals']['raise']>
>;
