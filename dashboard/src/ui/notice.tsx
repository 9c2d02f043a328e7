import { For, Show } from 'solid-js';
import type { JSX } from 'solid-js';

import { ApiError, isApiError } from '../api/client.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import type { IconName } from './icon.tsx';
import { VisibleText } from './visible-text.tsx';

const tones = {
  info: { box: 'border-low bg-low-soft', icon: 'text-low', name: 'clock' },
  good: { box: 'border-accent bg-accent-soft', icon: 'text-accent', name: 'check' },
  warning: { box: 'border-medium-band bg-medium-soft', icon: 'text-medium', name: 'alert' },
  bad: { box: 'border-high bg-high-soft', icon: 'text-high', name: 'alert' },
} as const satisfies Record<string, { box: string; icon: string; name: IconName }>;

export function Notice(props: {
  tone: keyof typeof tones;
  role?: 'alert' | 'status';
  children: JSX.Element;
}) {
  return (
    <div
      role={props.role}
      class={`flex gap-3 rounded-lg border-l-4 px-4 py-3 text-ink ${tones[props.tone].box}`}
    >
      <Icon
        name={tones[props.tone].name}
        class={`mt-0.5 size-5 shrink-0 ${tones[props.tone].icon}`}
      />
      <div class="min-w-0 grow">{props.children}</div>
    </div>
  );
}

/**
 * Shows an error: what went wrong, what to do, and the request id by which an operator finds the
 * error in the log.
 */
export function ErrorNotice(props: { error: Error; onRetry?: () => void }) {
  const requestId = () => (props.error instanceof ApiError ? props.error.requestId : null);
  /**
   * The sentence above the wrong fields. The gateway's own message about an invalid body is meant
   * for programs, so another sentence replaces it.
   */
  const words = () =>
    isApiError(props.error, 'invalid_request') && issues().length > 0
      ? 'The gateway cannot take this. Correct:'
      : props.error.message;
  const issues = () => (props.error instanceof ApiError ? props.error.issues : []);
  return (
    <Notice tone="bad" role="alert">
      <p class="font-medium">
        <VisibleText text={words()} />
      </p>
      <Show when={issues().length > 0}>
        <ul class="mt-1 grid gap-1 text-sm">
          <For each={issues()}>
            {({ path, message }) => (
              <li class="wrap-anywhere">
                <code class="font-mono">
                  <VisibleText text={path} />
                </code>{' '}
                {/* If the sentence above already contains this message, only the name of the field
                    is added. */}
                <Show when={!words().includes(message)}>
                  <VisibleText text={message} />
                </Show>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <Show when={requestId()}>
        {(id) => (
          <p class="mt-1 text-sm">
            Request id: <code class="font-mono break-all select-all">{id()}</code>
          </p>
        )}
      </Show>
      <Show when={props.onRetry}>
        {(retry) => (
          <Button class="mt-3" onClick={() => retry()()}>
            Try again
          </Button>
        )}
      </Show>
    </Notice>
  );
}
