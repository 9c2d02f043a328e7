import type { z } from 'zod';

import type { ApprovalResponse } from '#contracts/http/approvals';
import type { Me } from '#contracts/http/identities';
import type { OauthApp } from '#contracts/http/oauth-apps';
import type { ServiceRequest } from '#contracts/http/requests';
import type { status } from '#contracts/http/status';
import type { TemplateDetail } from '#contracts/http/templates';
import type { Webhook } from '#contracts/http/webhooks';
import { sortIntoQueue } from '../approvals/approval-view.ts';
import { waysOf } from '../connect/connect-view.ts';
import { mayAnswer } from '../connect/request-words.ts';

export type InstallationStatus = z.infer<typeof status>;

export type WaitingItem =
  | { readonly kind: 'approval'; readonly at: string; readonly approval: ApprovalResponse }
  | { readonly kind: 'request'; readonly at: string; readonly request: ServiceRequest };

/**
 * The items that wait for this person's answer, the riskiest first, then the oldest. What an admin
 * answers for the org is listed separately.
 */
export function waitingItemsOf(
  approvals: readonly ApprovalResponse[],
  requests: readonly ServiceRequest[],
  me: Me,
): WaitingItem[] {
  const items: WaitingItem[] = [
    ...sortIntoQueue(approvals, me.id).mine.map(
      (approval) => ({ kind: 'approval', at: approval.created_at, approval }) as const,
    ),
    ...requests
      .filter((request) => request.tier === 'user' && mayAnswer(request, me))
      .map((request) => ({ kind: 'request', at: request.created_at, request }) as const),
  ];
  const isHigh = (item: WaitingItem) => item.kind === 'approval' && item.approval.risk === 'high';
  return items.toSorted(
    (one, other) => Number(isHigh(other)) - Number(isHigh(one)) || one.at.localeCompare(other.at),
  );
}

/** What members ask the admins for, the oldest first. */
export function orgRequestsOf(requests: readonly ServiceRequest[], me: Me): ServiceRequest[] {
  return requests
    .filter((request) => request.tier === 'org' && mayAnswer(request, me))
    .toSorted((one, other) => one.created_at.localeCompare(other.created_at));
}

const dayMs = 86_400_000;
/**
 * Counts are kept for 90 days. The page asks for one day less, because the clocks of browser and
 * gateway may differ.
 */
const countedDaysMax = 89;
const daysOfFirstVisit = 7;

/**
 * The time from which the page counts calls: the previous visit, or seven days ago if there was
 * none.
 */
export function sinceOf(
  previousVisitAt: string | null,
  nowMs: number,
): { readonly since: string; readonly isVisit: boolean } {
  const visitMs = previousVisitAt === null ? Number.NaN : Date.parse(previousVisitAt);
  // A wrong clock must not lead to a period that ends before it begins.
  if (Number.isNaN(visitMs) || visitMs >= nowMs) {
    return { since: new Date(nowMs - daysOfFirstVisit * dayMs).toISOString(), isVisit: false };
  }
  const sinceMs = Math.max(visitMs, nowMs - countedDaysMax * dayMs);
  return { since: new Date(sinceMs).toISOString(), isVisit: true };
}

/** A text for each component, stream and consumer that has a problem. */
export function troublesOf({ components, streams, consumers }: InstallationStatus): string[] {
  const troubles = (states: Readonly<Record<string, { readonly status: string }>>) =>
    Object.entries(states).filter(
      ([, state]) => state.status !== 'ok' && state.status !== 'unknown',
    );
  return [
    ...troubles(components).map(([name, state]) => `${name} is ${state.status}`),
    ...troubles(streams).map(([name, state]) => `the stream ${name} is ${state.status}`),
    ...troubles(consumers).map(([name, state]) => `${name} is ${state.status} with its events`),
  ];
}

/** A text for each webhook that the gateway has switched off because deliveries kept failing. */
export function webhookTroublesOf(webhooks: readonly Webhook[]): string[] {
  return webhooks.flatMap(({ status, url, disabled_reason: reason }) =>
    status === 'disabled' && reason !== null
      ? [`the webhook to ${new URL(url).host} is switched off: ${reason}`]
      : [],
  );
}

/**
 * The templates that can only be connected with an account, although the org has no app at the
 * provider. Maps the key of each template to the title of its provider.
 */
export function missingAppsOf(
  templates: readonly TemplateDetail[],
  apps: readonly OauthApp[],
): ReadonlyMap<string, string> {
  return new Map(
    templates.flatMap((template) => {
      const accounts = waysOf(template).map(({ account }) => account);
      if (accounts.some((account) => account === null)) return [];
      const appsOfTemplate = apps.filter(({ provider }) =>
        accounts.some((account) => account?.provider === provider),
      );
      const [first] = appsOfTemplate;
      const isMissing =
        first !== undefined && appsOfTemplate.every(({ source }) => source === 'none');
      return isMissing ? [[template.key, first.title] as const] : [];
    }),
  );
}
