import { useQuery } from '@tanstack/solid-query';
import { Show } from 'solid-js';

import { useStreamState } from '../api/live.tsx';
import { isWorthRetrying } from '../api/query-client.ts';
import { sessionQuery } from '../features/session/session.queries.ts';
import { Icon } from '../ui/icon.tsx';

/** How often the gateway is asked while it does not answer. */
const askEveryMs = 3_000;

/**
 * Says that the gateway does not answer, as while it restarts. It lies over the page, because what
 * moved would move under the hand.
 */
export function AwayNotice() {
  const state = useStreamState();
  const isLost = () => state() === 'lost';
  const session = useQuery(() => ({
    ...sessionQuery(),
    // Asked until it has answered, so that an error of this time is not shown the next time.
    refetchInterval: ({ state: { error } }) => (isLost() || error !== null ? askEveryMs : false),
  }));
  return (
    <div role="status" class="fixed inset-x-0 top-14 z-20">
      <Show when={isLost() && isWorthRetrying(session.error)}>
        <p class="flex items-center justify-center gap-2 border-b border-medium-band bg-medium-soft px-3 py-1.5 text-sm font-medium">
          <Icon name="alert" class="size-5 shrink-0 text-medium" />
          No connection to the gateway
        </p>
      </Show>
    </div>
  );
}
