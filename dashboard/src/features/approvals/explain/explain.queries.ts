import { queryOptions } from '@tanstack/solid-query';
import type { z } from 'zod';

import type { validateReply } from '#contracts/http/actions';
import { request } from '../../../api/client.ts';

/** What the current rules say about one key of the call, as in a dry run. */
export type KeyExplanation = z.infer<typeof validateReply>['why'][number];

export const explanationQuery = (approvalId: string) =>
  queryOptions({
    queryKey: ['explanation', approvalId] as const,
    queryFn: ({ signal }) =>
      request<{ why: KeyExplanation[] }>(
        `/v1/approvals/${encodeURIComponent(approvalId)}/explain`,
        { signal },
      ),
  });
