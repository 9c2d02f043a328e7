import { isOpenApproval } from '#contracts/approval-status';
import type { ApprovalResponse } from '#contracts/http/approvals';
import type { Me } from '#contracts/http/identities';
import { serviceWords } from '#contracts/service-words';

export const riskWords = {
  low: { level: 'Low risk', does: 'reads' },
  med: { level: 'Medium risk', does: 'writes' },
  high: { level: 'High risk', does: 'deletes' },
} as const satisfies Record<ApprovalResponse['risk'], { level: string; does: string }>;

/**
 * What the card calls the service: its title if the gateway has verified the title, otherwise its
 * name.
 */
export function serviceOf({
  service,
  template,
  service_title: title,
}: Pick<ApprovalResponse, 'service' | 'template' | 'service_title'>): string {
  return serviceWords({ service, template, title });
}

/**
 * Whether it is a call to the notice board that `npm start` runs. A user can give their own
 * template the same name, but such templates have no verified title.
 */
export function isSampleCall({
  template,
  service_title: title,
}: Pick<ApprovalResponse, 'template' | 'service_title'>): boolean {
  return template === 'sample' && title !== undefined;
}

/** Whether the call is allowed and has not ended yet. */
export function isUnderWay({ status, execution }: ApprovalResponse): boolean {
  if (status !== 'allowed') return false;
  return execution === undefined || ['pending', 'executing'].includes(execution.status);
}

/** Whether the call is allowed and waits until its agent or a person runs it. */
export function waitsToBeRun(approval: ApprovalResponse): boolean {
  return approval.execution?.status === 'pending' && !approval.auto_call_on_approve;
}

/** How far a call has come. The card's sentences use the matching tense. */
export type Progress = 'asked' | 'coming' | 'ran' | 'never' | 'unknown';

export function progressOf(approval: ApprovalResponse): Progress {
  if (isOpenApproval(approval)) return 'asked';
  if (isUnderWay(approval)) return 'coming';
  const { execution } = approval;
  if (execution?.status === 'executed') return 'ran';
  return execution?.error?.error === 'outcome_unknown' ? 'unknown' : 'never';
}

/** The card's words for each stage of a call. */
export const cardWords = {
  asked: {
    wants: 'asks to',
    does: 'What it will do',
    keys: 'Not allowed yet',
    exposureWarning: 'This goes over plain http: others on the way can read it.',
  },
  coming: {
    wants: 'asked to',
    does: 'What it will do',
    keys: 'Had to be allowed',
    exposureWarning: 'This goes over plain http: others on the way can read it.',
  },
  ran: {
    wants: 'asked to',
    does: 'What it did',
    keys: 'Had to be allowed',
    exposureWarning: 'This went over plain http: others on the way could read it.',
  },
  never: {
    wants: 'asked to',
    does: 'What it would have done',
    keys: 'Had to be allowed',
    exposureWarning: 'This would have gone over plain http, readable by others on the way.',
  },
  unknown: {
    wants: 'asked to',
    does: 'What it may have done',
    keys: 'Had to be allowed',
    exposureWarning: 'This may have gone over plain http, readable by others on the way.',
  },
} as const satisfies Record<
  Progress,
  { wants: string; does: string; keys: string; exposureWarning: string }
>;

/** Whether this person may decide the approval. If not, also a sentence that says why. */
export function mayDecide(
  me: Me,
  approval: ApprovalResponse,
): { isAllowed: boolean; refusalReason: string } {
  if (me.role === 'auditor') {
    return {
      isAllowed: false,
      refusalReason: 'You can read this as an auditor; somebody else decides it.',
    };
  }
  if (approval.relationship !== 'downstream') {
    return {
      isAllowed: false,
      refusalReason: 'You can read this; people above the agent that asks decide it.',
    };
  }
  return { isAllowed: true, refusalReason: '' };
}

/**
 * Whether this person can hand the approval up to the user at the top. That user cannot, because
 * nobody is above. So only an admin can, and only while an agent is to decide.
 */
export function mayHandUp(me: Me, approval: ApprovalResponse): boolean {
  const topDecider = approval.may_resolve[0];
  return topDecider !== undefined && approval.resolver_id !== topDecider && me.id !== topDecider;
}

/**
 * Divides the open approvals into those that this person decides and all others. Both groups are
 * sorted oldest first, so that new approvals do not move older ones.
 */
export function sortIntoQueue(
  approvals: readonly ApprovalResponse[],
  myId: string,
): { mine: ApprovalResponse[]; others: ApprovalResponse[] } {
  const oldestFirst = approvals
    .filter(isOpenApproval)
    .toSorted((one, other) => one.created_at.localeCompare(other.created_at));
  return {
    mine: oldestFirst.filter(({ resolver_id: resolver }) => resolver === myId),
    others: oldestFirst.filter(({ resolver_id: resolver }) => resolver !== myId),
  };
}

export function endTimeOf({ resolved_at: resolvedAt, expires_at: expiresAt }: ApprovalResponse) {
  return resolvedAt ?? expiresAt;
}

/**
 * The id of the next or previous approval in the list, undefined at the end of the list. If none is
 * chosen, a step forward leads to the first approval, and a step back to the last one.
 */
export function findAdjacentId(
  ids: readonly string[],
  currentId: string | undefined,
  step: 1 | -1,
): string | undefined {
  if (currentId === undefined || !ids.includes(currentId)) return step === 1 ? ids[0] : ids.at(-1);
  return ids[ids.indexOf(currentId) + step];
}

const statusVerbs = {
  pending: 'Open',
  bubbled: 'Open',
  allowed: 'Allowed',
  denied: 'Denied',
  expired: 'Expired',
} as const satisfies Record<ApprovalResponse['status'], string>;

/** The decision in words: `Allowed by Ann`, `Cancelled`, `Expired undecided`. */
export function describeDecision(approval: ApprovalResponse, myId: string): string {
  const { status, resolved_by: by, reason } = approval;
  if (isOpenApproval(approval)) return 'Waiting for a decision';
  if (status === 'expired') return 'Expired undecided';
  const verb = status === 'denied' && reason === 'cancelled' ? 'Cancelled' : statusVerbs[status];
  if (by === null) return verb;
  return `${verb} by ${by.id === myId ? 'you' : by.name}`;
}

/** Whether the call was sent but the service did not do what the call asks for. */
export function hasFailedAtService(execution: ApprovalResponse['execution']): boolean {
  if (execution?.status !== 'executed') return false;
  return execution.result?.failure !== undefined || (execution.http_status_code ?? 200) >= 400;
}

/** The colour of the outcome. It depends on whether the agent got what it asked for. */
export function toneOf({ status, execution }: ApprovalResponse): 'good' | 'bad' | 'warning' {
  if (status === 'denied') return 'bad';
  if (status !== 'allowed') return 'warning';
  if (execution?.status === 'failed') {
    return execution.error?.error === 'outcome_unknown' ? 'warning' : 'bad';
  }
  if (execution?.status === 'cancelled' || execution?.status === 'expired') return 'warning';
  return hasFailedAtService(execution) ? 'warning' : 'good';
}

/**
 * The status of an approval in one or two words. It is for lists, which show the service beside it.
 */
export function statusWordOf(approval: ApprovalResponse): string {
  const { status, reason, execution } = approval;
  if (status === 'denied' && reason === 'cancelled') return 'Cancelled';
  if (status !== 'allowed') return statusVerbs[status];
  switch (execution?.status) {
    case 'executed':
      return hasFailedAtService(execution) ? 'Failed there' : 'Done';
    case 'failed':
      return execution.error?.error === 'outcome_unknown' ? 'Outcome unknown' : 'Failed';
    case 'cancelled':
      return 'Stopped';
    case 'expired':
      return 'Not run';
    case 'executing':
      return 'Running';
    default:
      return 'Allowed';
  }
}
