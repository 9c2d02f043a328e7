import { queryOptions } from '@tanstack/solid-query';

import type { Secret } from '#contracts/http/secrets';
import { ApiError, request } from '../../api/client.ts';
import type { ApprovalList } from '../approvals/approvals.queries.ts';
import { createService, storeSecret } from '../connect/connect.queries.ts';
import { findFreeName, namesIn } from '../connect/connect-view.ts';
import { createSampleKey } from '../connect/sample-key.ts';

/** Whether there are approvals with this status: 1 if there is at least one, otherwise 0. */
export const anyApprovalQuery = (status: 'any' | 'decided') =>
  queryOptions({
    queryKey: ['approvals', 'any', status],
    queryFn: async ({ signal }) => {
      const filter = status === 'any' ? '' : `&status=${status}`;
      const { items } = await request<ApprovalList>(`/v1/approvals?limit=1${filter}`, { signal });
      return items.length;
    },
  });

const sampleSecretName = 'sample_key';

/** Connects the notice board for the person, with a new key. */
export async function connectSample(secrets: readonly Secret[]): Promise<void> {
  const name = findFreeName(sampleSecretName, namesIn(secrets, 'user'));
  const secret = await storeSecret({
    name,
    value: createSampleKey(),
    tier: 'user',
    description: 'The key of the notice board, made by the dashboard.',
  });
  await createService({ template: 'sample', credentials: { secrets: { key: secret.name } } });
}

/**
 * Calls the notice board as the agent to which this key belongs, to pin a note. The request does
 * not contain the person's session, so the same rules apply as to any other call of the agent.
 */
export async function askAsAgent({ key, text }: { key: string; text: string }) {
  const response = await fetch('/v1/actions/call', {
    method: 'POST',
    credentials: 'omit',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({
      service: 'sample',
      action: 'pin_note',
      params: { board: 'kitchen', text },
    }),
  });
  const body = (await response.json()) as { approval_id?: string; message?: string };
  if (!response.ok) {
    throw new ApiError('internal', body.message ?? `The gateway answered ${response.status}.`);
  }
  return { approvalId: body.approval_id ?? null };
}
