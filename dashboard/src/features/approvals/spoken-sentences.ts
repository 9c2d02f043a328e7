import type { ApprovalResponse } from '#contracts/http/approvals';
import type { EventType } from '#contracts/event-types';
import { describeDecision, hasFailedAtService, serviceOf } from './approval-view.ts';

export interface SentenceBuilders {
  /** The sentence that is read out on every page, made from the data of the event. */
  readonly onEveryPage?: (data: Readonly<Record<string, unknown>>) => string | undefined;
  /** The sentence that is read out on the page of the approval once the page shows the change. */
  readonly onCard?: (approval: ApprovalResponse, myId: string) => string | undefined;
}

/**
 * What screen readers read out after an event, by event type. Types without an entry are not read
 * out.
 */
export const spokenSentences = {
  'approval.raised': {
    onEveryPage: ({ action_description: description }) =>
      typeof description === 'string' ? `New approval: ${description}` : undefined,
  },
  'approval.resolved': { onCard: (approval, myId) => `${describeDecision(approval, myId)}.` },
  'execution.finished': { onCard: describeEnd },
} satisfies Partial<Record<EventType, SentenceBuilders>>;

export function spokenSentencesOf(type: EventType): SentenceBuilders {
  const sentences: Partial<Record<EventType, SentenceBuilders>> = spokenSentences;
  return sentences[type] ?? {};
}

function describeEnd(approval: ApprovalResponse): string | undefined {
  const { execution } = approval;
  const service = serviceOf(approval);
  switch (execution?.status) {
    case 'executed':
      if (hasFailedAtService(execution)) {
        const failureMessage = execution.result?.failure?.message;
        return `The call failed at ${service}${failureMessage === undefined ? '' : `: ${failureMessage}`}.`;
      }
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
