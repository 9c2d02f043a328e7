import { MutationCache, QueryCache, QueryClient } from '@tanstack/solid-query';

import { isApiError } from './client.ts';

export const sessionKey = ['me'] as const;

/**
 * Creates the cache of answers. After any answer that nobody is signed in, the page asks again who
 * is signed in.
 */
export function createQueryClient(): QueryClient {
  const askWhoIsSignedIn = (error: unknown) => {
    if (isApiError(error, 'unauthenticated'))
      void client.invalidateQueries({ queryKey: sessionKey });
  };
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        if (query.queryKey[0] !== sessionKey[0]) askWhoIsSignedIn(error);
      },
    }),
    mutationCache: new MutationCache({ onError: askWhoIsSignedIn }),
    defaultOptions: {
      queries: {
        // The browser's word on the network is not taken: it also calls a machine without one offline,
        // whose gateway answers on loopback.
        networkMode: 'always',
        refetchOnReconnect: true,
        staleTime: 5_000,
        retry: (count, error) => count < 2 && isWorthRetrying(error),
        retryDelay: (attempt) => 500 * 2 ** attempt,
      },
      // What the browser holds back while it is offline it sends by itself once it is online, when
      // the person may have long turned away: a decision fails at once instead, and is made anew.
      mutations: { retry: false, networkMode: 'always' },
    },
  });
  return client;
}

/** Whether the gateway may give another answer soon: it was busy, or was not reached. */
export function isWorthRetrying(error: unknown): boolean {
  return isApiError(error, 'unreachable') || isApiError(error, 'unavailable');
}
