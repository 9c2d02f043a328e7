import { useQuery } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createSignal } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { Spinner } from '../../../ui/icon.tsx';
import { LongText } from '../../../ui/long-text.tsx';
import { ErrorNotice } from '../../../ui/notice.tsx';
import { VisibleText } from '../../../ui/visible-text.tsx';
import { explanationQuery } from './explain.queries.ts';
import { reasonsOf } from './explain-view.ts';

/**
 * Shows why the call waits, according to the current rules. It is loaded only when a person opens
 * it.
 */
export function WhyAsked(props: { approval: ApprovalResponse }) {
  const [isOpen, setOpen] = createSignal(false);
  const explanation = useQuery(() => ({
    ...explanationQuery(props.approval.id),
    enabled: isOpen(),
  }));
  return (
    <details class="mt-4" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="min-h-8 rounded text-sm font-medium text-ink-soft hover:text-ink">
        Why is this asked?
      </summary>
      <Switch
        fallback={
          <p class="flex items-center gap-3 py-2 text-ink-soft" role="status">
            <Spinner /> Loading…
          </p>
        }
      >
        <Match when={explanation.data}>
          {(data) => (
            <ul class="mt-2 grid gap-3">
              <For each={reasonsOf(data().why, props.approval)}>
                {(reason) => (
                  <li>
                    <span classList={{ 'font-medium': reason.isMissing }}>
                      <VisibleText text={reason.sentence} />
                    </span>
                    <LongText
                      class="font-mono text-sm text-ink-soft"
                      text={reason.key}
                      charactersMax={200}
                      linesMax={3}
                    />
                  </li>
                )}
              </For>
            </ul>
          )}
        </Match>
        <Match when={explanation.error}>
          {(error) => (
            <Show when={isOpen()}>
              <div class="mt-2">
                <ErrorNotice error={error()} onRetry={() => void explanation.refetch()} />
              </div>
            </Show>
          )}
        </Match>
      </Switch>
    </details>
  );
}
