import { useQuery } from '@tanstack/solid-query';
import { Show } from 'solid-js';

import { useStreamState } from '../api/live.tsx';
import { isWorthRetrying } from '../api/query-client.ts';
import { sessionQuery } from '../features/session/session.queries.ts';
import { Icon } from '../ui/icon.tsx';

/** How often to send a request while the gateway does not answer. */
const askEveryMs = 3_000;

/**
 * Says that the gateway does not answer, for example because it restarts. The notice covers part of
 * the page: if it moved the page, buttons would move away just as a person presses them.
 */
export function AwayNotice() {
  const state = useStreamState();
  const isLost = () => state() === 'lost';
  const session = useQuery(() => ({
    ...sessionQuery(),
    // Also repeated after the stream is open again, until an answer arrives: otherwise this error
    // would be shown at the next interruption.
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
