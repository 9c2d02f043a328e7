import { QueryCache, QueryClient } from '@tanstack/solid-query';

import { isApiError } from './client.ts';

export const sessionKey = ['me'] as const;

/** One answer that says "not signed in" is enough for the whole page to ask who is signed in. */
export function createQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        if (!isApiError(error, 'unauthenticated') || query.queryKey[0] === sessionKey[0]) return;
        void client.invalidateQueries({ queryKey: sessionKey });
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (count, error) => count < 2 && isWorthRetrying(error),
        retryDelay: (attempt) => 500 * 2 ** attempt,
      },
      mutations: { retry: false },
    },
  });
  return client;
}

function isWorthRetrying(error: unknown): boolean {
  return isApiError(error, 'unreachable') || isApiError(error, 'unavailable');
}
