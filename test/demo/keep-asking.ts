import { setTimeout as delay } from 'node:timers/promises';

import type { Caller } from '../support/http.ts';

const askEveryMs = 10_000;
const openMax = 6;

const calls = [
  {
    action: 'create_issue',
    params: { repository: 'acme/shop', title: 'Checkout fails on Safari 18', labels: ['bug'] },
  },
  {
    action: 'create_comment',
    params: { repository: 'acme/site', issue_number: 7, body: 'Fixed in the last release.' },
  },
  { action: 'delete_label', params: { repository: 'acme/site', name: 'p1' } },
  { action: 'merge_pull_request', params: { repository: 'acme/site', pull_number: 12 } },
  {
    action: 'update_issue',
    params: { repository: 'acme/shop', issue_number: 3, state: 'closed' },
  },
];

/**
 * Asks for one call after another, as a working agent would. Pauses while a handful of calls wait
 * for a decision. Ends when `stop` resolves.
 */
export async function keepAsking(bot: Caller, stop: Promise<unknown>): Promise<void> {
  const stopper = new AbortController();
  void stop.then(() => stopper.abort());
  for (let count = 0; !stopper.signal.aborted; count += 1) {
    const openApprovals = await bot.get(`/v1/approvals?status=open&limit=${openMax}`);
    if (openApprovals.body.items.length < openMax) {
      const call = calls[count % calls.length];
      await bot.post('/v1/actions/call', { service: 'github', ...call });
    }
    await delay(askEveryMs, undefined, { signal: stopper.signal }).catch(() => undefined);
  }
}
