import type {
  ApprovalResponse,
  ApprovalStatus,
  Execution as PublicExecution,
} from '#contracts/http/approvals';
import type { CallResult } from '#contracts/call';
import type { AuditEntry, DisclosedField } from '#contracts/audit';
import type { CallContext, IdentityReference, Risk } from '#contracts/vocabulary';
import type { LadderStep } from './ladder.ts';

export type Resolution = NonNullable<ApprovalResponse['resolution']>;
export type Trigger = NonNullable<PublicExecution['triggered_by']>;

/** What a person and the audit log are shown of a gated call; frozen when it is raised. */
export interface Card {
  readonly requester: IdentityReference;
  readonly placement: ApprovalResponse['placement'];
  readonly template: string | null;
  /** Absent: http. */
  readonly runtime?: 'mcp';
  readonly action: string;
  readonly description: string;
  /** The uncovered keys of the call: they alone are decided. */
  readonly permissionKeys: readonly string[];
  readonly derivedKeys: ApprovalResponse['derived_keys'];
  readonly suggestedTiers: ApprovalResponse['suggested_tiers'];
  readonly request: ApprovalResponse['request'];
  readonly disclosed: readonly DisclosedField[];
  readonly credential: AuditEntry['credential'];
  readonly context: CallContext;
}

export interface Approval {
  readonly id: string;
  readonly orgId: string;
  readonly status: ApprovalStatus;
  readonly requesterId: string;
  readonly userId: string;
  /** Ids, the user first and the requester last. */
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
  /** What the decision is made on; null in approvals raised before decisions were signed. */
  readonly gapId: string | null;
  readonly gapDigest: string | null;
  readonly cardMac: string | null;
  readonly requestDigest: string;
  readonly timeoutMs: number;
  readonly autoCallOnApprove: boolean;
  readonly card: Card;
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

export interface Execution {
  readonly id: string;
  readonly status: PublicExecution['status'];
  readonly runtime: PublicExecution['runtime'];
  readonly triggeredBy: Trigger | null;
  readonly httpStatusCode: number | null;
  readonly result: CallResult | null;
  readonly error: ExecutionError | null;
  readonly auditId: string | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly expiresAt: Date;
}

export function isOpen({ status }: { status: ApprovalStatus }): boolean {
  return status === 'pending' || status === 'bubbled';
}

/** Allowed, and the call has neither ended nor been given up. */
export function isToRun({ status, execution }: Approval): boolean {
  return (
    status === 'allowed' && (execution?.status === 'pending' || execution?.status === 'executing')
  );
}

/** The card shows an outline of such a request: it is decided alone, and only with an acknowledgement. */
export function isTooLarge({ card }: Pick<Approval, 'card'>): boolean {
  return card.request.too_large === true;
}

const riskOrder = { read: 0, write: 1, delete: 2 } as const satisfies Record<Risk, number>;

export function isNoHigherRisk(risk: Risk, than: Risk): boolean {
  return riskOrder[risk] <= riskOrder[than];
}
