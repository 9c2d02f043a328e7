import { Show } from 'solid-js';

import { useStreamState } from '../api/live.tsx';

const words = {
  connecting: { text: 'Connecting', title: 'Waiting for the gateway’s event stream' },
  live: { text: 'Live', title: 'Changes appear by themselves' },
  lost: { text: 'Reconnecting', title: 'Not connected: this page asks for changes every 10 s' },
} as const;

export function LiveState() {
  const state = useStreamState();
  return (
    <span
      role="status"
      class="flex grow items-center justify-end gap-2 text-sm text-ink-soft"
      title={words[state()].title}
    >
      {/* The text grows to the left, so the dot does not move. */}
      <Show when={state()} keyed>
        {(shown) => (
          <span classList={{ 'max-sm:sr-only': shown !== 'lost' }}>{words[shown].text}</span>
        )}
      </Show>
      <span
        class="size-2.5 rounded-full"
        classList={{
          'bg-accent': state() === 'live',
          'animate-pulse bg-medium-band': state() !== 'live',
        }}
        aria-hidden="true"
      />
    </span>
  );
}
