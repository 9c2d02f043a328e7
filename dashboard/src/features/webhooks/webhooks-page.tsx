import { useSearchParams } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { For, Show, createMemo } from 'solid-js';

import { Button } from '../../ui/button.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { useTitle } from '../../ui/title.ts';
import { useMe } from '../session/session.tsx';
import { NewWebhook } from './new-webhook.tsx';
import { WebhookCard } from './webhook-card.tsx';
import { webhooksQuery } from './webhooks.queries.ts';

/**
 * A webhook becomes active when its address answers the challenge. No event reports that, so the
 * page polls.
 */
const askAgainMs = 10_000;

/**
 * The page with the webhooks: those of the org for admins and auditors, those of their own agents
 * for members.
 */
export function WebhooksPage() {
  const me = useMe();
  const [search, setSearch] = useSearchParams<{ add?: string }>();
  const canChange = () => me().role !== 'auditor';
  const isAdding = () => search.add !== undefined && canChange();
  const webhooks = useQuery(() => ({ ...webhooksQuery(), refetchInterval: askAgainMs }));
  useTitle(() => 'Webhooks');
  let addButton: HTMLButtonElement | undefined;
  const ids = createMemo(() => (webhooks.data ?? []).map(({ id }) => id));
  const webhookOf = (id: string) => webhooks.data?.find((webhook) => webhook.id === id);

  return (
    <main id="content" class="mx-auto max-w-3xl px-3 py-4 sm:px-6 sm:py-8">
      <div class="flex flex-wrap items-center justify-between gap-3">
        <h1 class="text-xl font-semibold sm:text-2xl">Webhooks</h1>
        <Show when={!isAdding() && canChange() && ids().length > 0}>
          <Button
            ref={(element) => (addButton = element)}
            look="primary"
            onClick={() => setSearch({ add: '1' })}
          >
            New webhook
          </Button>
        </Show>
      </div>
      <Show when={isAdding()}>
        <div class="mt-4">
          <NewWebhook
            onClose={() => {
              setSearch({ add: undefined });
              queueMicrotask(() => addButton?.focus());
            }}
          />
        </div>
      </Show>
      <div class="mt-4 grid grid-cols-[minmax(0,1fr)] gap-4">
        <Loaded query={webhooks}>
          {() => (
            <Show
              when={ids().length > 0}
              fallback={
                <NoWebhooks
                  canAdd={canChange() && !isAdding()}
                  onAdd={() => setSearch({ add: '1' })}
                />
              }
            >
              <ul class="grid grid-cols-[minmax(0,1fr)] gap-4">
                <For each={ids()}>
                  {(id) => (
                    <Show when={webhookOf(id)}>
                      {(webhook) => <WebhookCard webhook={webhook()} canChange={canChange()} />}
                    </Show>
                  )}
                </For>
              </ul>
            </Show>
          )}
        </Loaded>
      </div>
    </main>
  );
}

function NoWebhooks(props: { canAdd: boolean; onAdd: () => void }) {
  return (
    <div class="rounded-xl border border-dashed border-line-strong px-4 py-10 text-center">
      <p class="text-ink-soft">
        A webhook tells your own programs what happens: an approval waits, was decided, or an
        approved call has run. Every delivery is signed.
      </p>
      <Show when={props.canAdd}>
        <Button look="primary" class="mt-4" onClick={() => props.onAdd()}>
          New webhook
        </Button>
      </Show>
    </div>
  );
}
