import type { ApprovalStatus } from '#contracts/approval-status';
import type { ApprovalResponse, Execution as PublicExecution } from '#contracts/http/approvals';
import type { CallResult } from '#contracts/call';
import type { AuditEntry, DisclosedField } from '#contracts/audit';
import type { ServiceTitle } from '#contracts/card';
import type { CallContext, IdentityReference, Risk } from '#contracts/vocabulary';
import type { LadderStep } from './ladder.ts';

export type Resolution = NonNullable<ApprovalResponse['resolution']>;
export type ReplayTrigger = NonNullable<PublicExecution['triggered_by']>;

/**
 * The approval card: what people and the audit log see of a suspended call. It never changes after
 * the approval is raised.
 */
export interface ApprovalCard {
  readonly requester: IdentityReference;
  readonly placement: ApprovalResponse['placement'];
  readonly template: string | null;
  /** Absent when the title of the service is not verified. */
  readonly serviceTitle?: ServiceTitle;
  /** Absent for calls that are not to an MCP server. */
  readonly runtime?: 'mcp';
  readonly action: string;
  readonly description: string;
  /** The permission keys of the call that no rule covers. The decision concerns only these. */
  readonly permissionKeys: readonly string[];
  readonly derivedKeys: ApprovalResponse['derived_keys'];
  readonly suggestedTiers: ApprovalResponse['suggested_tiers'];
  readonly request: ApprovalResponse['request'];
  readonly disclosed: readonly DisclosedField[];
  readonly credential: AuditEntry['credential'];
  readonly context: CallContext;
  /**
   * The trace context of the span in which the call was suspended; absent when that was not traced.
   */
  readonly traceparent?: string;
}

export interface Approval {
  readonly id: string;
  readonly orgId: string;
  readonly status: ApprovalStatus;
  readonly requesterId: string;
  readonly userId: string;
  /** The ids of the requester and its ancestors, from the user at the top down to the requester. */
  readonly chain: readonly string[];
  readonly resolverId: string;
  readonly ladder: readonly LadderStep[];
  readonly autoBubbleSeconds: number;
  readonly placementId: string;
  readonly service: string;
  readonly serviceId: string | null;
  readonly credentialId: string | null;
  readonly risk: Risk;
  readonly nonRead: boolean;
  /**
   * The id of the permission gap that the decision is about; null in approvals raised before
   * decisions were signed.
   */
  readonly gapId: string | null;
  readonly gapDigest: string | null;
  readonly cardMac: string | null;
  readonly requestDigest: string;
  readonly timeoutMs: number;
  readonly autoCallOnApprove: boolean;
  readonly card: ApprovalCard;
  readonly reason: string | null;
  readonly resolution: Resolution | null;
  readonly resolvedBy: IdentityReference | null;
  readonly resolvedAt: Date | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly execution: Execution | null;
}

export interface ExecutionError {
  readonly error: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** The `error` of an execution that a deny rule ended; callers read it as a denial (docs/reference/calling.md#answers). */
export const deniedErrorCode = 'denied';

export interface Execution {
  readonly id: string;
  readonly status: PublicExecution['status'];
  readonly runtime: PublicExecution['runtime'];
  readonly triggeredBy: ReplayTrigger | null;
  readonly httpStatusCode: number | null;
  readonly result: CallResult | null;
  readonly error: ExecutionError | null;
  readonly auditId: string | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly expiresAt: Date;
  /** The trace context of the span in which the call was allowed; null when that was not traced. */
  readonly traceparent: string | null;
}

/** Whether the approval is allowed and its call has not ended. */
export function isAllowedAndNotEnded({ status, execution }: Approval): boolean {
  return (
    status === 'allowed' && (execution?.status === 'pending' || execution?.status === 'executing')
  );
}

/**
 * Whether the approval card shows only an outline of the request, because the request is too large.
 * Cascades skip such an approval, and allowing it takes an explicit acknowledgement.
 */
export function isRequestTooLarge({ card }: Pick<Approval, 'card'>): boolean {
  return card.request.too_large === true;
}

const riskRanks = { read: 0, write: 1, delete: 2 } as const satisfies Record<Risk, number>;

export function isRiskAtMost(risk: Risk, highestRisk: Risk): boolean {
  return riskRanks[risk] <= riskRanks[highestRisk];
}
