import type { ApprovalResponse } from '#contracts/http/approvals';
import type { Me } from '#contracts/http/identities';

export const riskWords = {
  low: { level: 'Low risk', does: 'reads' },
  med: { level: 'Medium risk', does: 'writes' },
  high: { level: 'High risk', does: 'deletes' },
} as const satisfies Record<ApprovalResponse['risk'], { level: string; does: string }>;

export function isOpen(approval: Pick<ApprovalResponse, 'status'>): boolean {
  return approval.status === 'pending' || approval.status === 'bubbled';
}

/** Whether an allowed call has yet to come to its end. */
export function isUnderWay({ status, execution }: ApprovalResponse): boolean {
  if (status !== 'allowed') return false;
  return execution === undefined || ['pending', 'executing'].includes(execution.status);
}

/** An allowed call that waits for its agent, or for a person, to run it. */
export function waitsToBeRun(approval: ApprovalResponse): boolean {
  return approval.execution?.status === 'pending' && !approval.auto_call_on_approve;
}

/** How far a call has come, for the tense in which it is spoken of. */
export type Progress = 'asked' | 'coming' | 'ran' | 'never' | 'unknown';

export function progressOf(approval: ApprovalResponse): Progress {
  if (isOpen(approval)) return 'asked';
  if (isUnderWay(approval)) return 'coming';
  const { execution } = approval;
  if (execution?.status === 'executed') return 'ran';
  return execution?.error?.error === 'outcome_unknown' ? 'unknown' : 'never';
}

/** What the card says of a call, in its tense. */
export const cardWords = {
  asked: {
    wants: 'asks to',
    does: 'What it will do',
    keys: 'Not allowed yet',
    exposed: 'This goes over plain http: others on the way can read it.',
  },
  coming: {
    wants: 'asked to',
    does: 'What it will do',
    keys: 'Had to be allowed',
    exposed: 'This goes over plain http: others on the way can read it.',
  },
  ran: {
    wants: 'asked to',
    does: 'What it did',
    keys: 'Had to be allowed',
    exposed: 'This went over plain http: others on the way could read it.',
  },
  never: {
    wants: 'asked to',
    does: 'What it would have done',
    keys: 'Had to be allowed',
    exposed: 'This would have gone over plain http, readable by others on the way.',
  },
  unknown: {
    wants: 'asked to',
    does: 'What it may have done',
    keys: 'Had to be allowed',
    exposed: 'This may have gone over plain http, readable by others on the way.',
  },
} as const satisfies Record<
  Progress,
  { wants: string; does: string; keys: string; exposed: string }
>;

/** What is read out when a call comes to its end. */
export function endSentence({ service, execution }: ApprovalResponse): string | undefined {
  switch (execution?.status) {
    case 'executed':
      return `The call ran: ${service} answered ${execution.http_status_code ?? ''}`.trim() + '.';
    case 'failed':
      return execution.error?.error === 'outcome_unknown'
        ? 'It is not known whether the call happened.'
        : 'The call failed; nothing was changed.';
    case 'cancelled':
      return 'The call was stopped before it ran.';
    case 'expired':
      return 'The call was not run in time.';
    default:
      return undefined;
  }
}

/** Whether this person may decide; why not, as a sentence, when they may not. */
export function mayDecide(me: Me, approval: ApprovalResponse): { yes: boolean; why: string } {
  if (me.role === 'auditor') {
    return { yes: false, why: 'You can read this as an auditor; somebody else decides it.' };
  }
  if (approval.relationship !== 'downstream') {
    return { yes: false, why: 'You can read this; people above the agent that asks decide it.' };
  }
  return { yes: true, why: '' };
}

/** Handing up makes sense for an admin alone who finds it with an agent: the user is above that. */
export function mayHandUp(me: Me, approval: ApprovalResponse): boolean {
  const top = approval.may_resolve[0];
  return top !== undefined && approval.resolver_id !== top && me.id !== top;
}

/** Those waiting for this person first, and of each group what has waited longest: new ones move nothing. */
export function inQueueOrder(
  approvals: readonly ApprovalResponse[],
  myId: string,
): { mine: ApprovalResponse[]; others: ApprovalResponse[] } {
  const oldestFirst = approvals
    .filter(isOpen)
    .toSorted((one, other) => one.created_at.localeCompare(other.created_at));
  return {
    mine: oldestFirst.filter(({ resolver_id: resolver }) => resolver === myId),
    others: oldestFirst.filter(({ resolver_id: resolver }) => resolver !== myId),
  };
}

/** Decided ones, latest decision first. */
export function decidedFirst(approvals: readonly ApprovalResponse[]): ApprovalResponse[] {
  return approvals
    .filter((approval) => !isOpen(approval))
    .toSorted((one, other) => endedAt(other).localeCompare(endedAt(one)));
}

export function endedAt({ resolved_at: resolvedAt, expires_at: expiresAt }: ApprovalResponse) {
  return resolvedAt ?? expiresAt;
}

/** The one after or before in the list; the first when none is chosen, undefined at the end. */
export function neighbour(
  ids: readonly string[],
  current: string | undefined,
  step: 1 | -1,
): string | undefined {
  if (current === undefined || !ids.includes(current)) return step === 1 ? ids[0] : ids.at(-1);
  return ids[ids.indexOf(current) + step];
}

const verbs = { allowed: 'Allowed', denied: 'Denied', expired: 'Expired' } as const;

/** `Allowed by Ann`, `Cancelled`, `Expired undecided`. */
export function decisionText(approval: ApprovalResponse, myId: string): string {
  const { status, resolved_by: by, reason } = approval;
  if (status === 'pending' || status === 'bubbled') return 'Waiting for a decision';
  if (status === 'expired') return 'Expired undecided';
  const verb = status === 'denied' && reason === 'cancelled' ? 'Cancelled' : verbs[status];
  if (by === null) return verb;
  return `${verb} by ${by.id === myId ? 'you' : by.name}`;
}

/** Whether it went the way the agent asked for, as a colour says it. */
export function tone({ status, execution }: ApprovalResponse): 'good' | 'bad' | 'warning' {
  if (status === 'denied') return 'bad';
  if (status !== 'allowed') return 'warning';
  if (execution?.status === 'failed') {
    return execution.error?.error === 'outcome_unknown' ? 'warning' : 'bad';
  }
  if (execution?.status === 'cancelled' || execution?.status === 'expired') return 'warning';
  return (execution?.http_status_code ?? 200) < 400 ? 'good' : 'warning';
}

/** One word, for lists. */
export function statusWord({ status, reason, execution }: ApprovalResponse): string {
  if (status === 'pending' || status === 'bubbled') return 'Open';
  if (status === 'denied' && reason === 'cancelled') return 'Cancelled';
  if (status !== 'allowed') return verbs[status];
  switch (execution?.status) {
    case 'executed':
      return `Ran, ${execution.http_status_code ?? 'answered'}`;
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
