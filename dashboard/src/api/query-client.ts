import { MutationCache, QueryCache, QueryClient } from '@tanstack/solid-query';

import { isApiError } from './client.ts';

export const sessionKey = ['me'] as const;

/**
 * Creates the cache of answers. When an answer says that nobody is signed in, the cache requests
 * the session again.
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
        // Always send the request: the browser also reports "offline" on a machine without a
        // network, where the gateway still answers on loopback.
        networkMode: 'always',
        refetchOnReconnect: true,
        staleTime: 5_000,
        retry: (count, error) => count < 2 && isWorthRetrying(error),
        retryDelay: (attempt) => 500 * 2 ** attempt,
      },
      // Otherwise the browser would keep a change while it is offline, and send it once it is
      // online, when the person may have left long ago. So a change fails at once, and the person
      // can make it again.
      mutations: { retry: false, networkMode: 'always' },
    },
  });
  return client;
}

/** Whether a retry may soon succeed: the gateway was busy, or was not reached. */
export function isWorthRetrying(error: unknown): boolean {
  return isApiError(error, 'unreachable') || isApiError(error, 'unavailable');
}
