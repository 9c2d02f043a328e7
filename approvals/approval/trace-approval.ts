import { trace } from '@opentelemetry/api';
import type { Link } from '@opentelemetry/api';

import { linksTo } from '#telemetry';
import type { Approval } from './domain/approval.ts';

/** The attributes of every span of work on this approval. */
export function approvalAttributesOf({ id }: Pick<Approval, 'id'>): { 'aag.approval_id': string } {
  return { 'aag.approval_id': id };
}

/** Links to the spans of the call that was suspended and of the decision that allowed it. */
export function approvalLinksOf({ card, execution }: Pick<Approval, 'card' | 'execution'>): Link[] {
  return linksTo(card.traceparent, execution?.traceparent);
}

/** Adds the approval's id and the links to earlier spans to the active span. */
export function traceApproval(approval: Approval): void {
  trace
    .getActiveSpan()
    ?.setAttributes(approvalAttributesOf(approval))
    .addLinks(approvalLinksOf(approval));
}
