import { queryOptions } from '@tanstack/solid-query';
import type { z } from 'zod';

import type { SecretRequest, provideSecretBody } from '#contracts/http/secret-requests';
import type { Secret } from '#contracts/http/secrets';
import { request } from '../../api/client.ts';
import { sendSecret } from '../../api/send-secret.ts';

const addressOf = (token: string) => `/v1/provide/${encodeURIComponent(token)}` as const;

export const secretRequestQuery = (token: string) =>
  queryOptions({
    queryKey: ['provide', token],
    queryFn: ({ signal }) => request<SecretRequest>(addressOf(token), { signal }),
    // The request is loaded only once, because the form must not change while a person fills it in.
    staleTime: 'static',
  });

export function provideSecret({
  token,
  body,
}: {
  token: string;
  body: z.input<typeof provideSecretBody>;
}): Promise<Secret> {
  return sendSecret((asIs) =>
    request<Secret>(addressOf(token), { method: 'POST', body: { ...body, ...asIs } }),
  );
}
