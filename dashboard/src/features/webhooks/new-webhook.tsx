import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { For, Show, createSignal } from 'solid-js';

import { Button } from '../../ui/button.tsx';
import { CheckBox } from '../../ui/check-box.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { eventChoices } from './event-choices.ts';
import { createWebhook, webhooksKey } from './webhooks.queries.ts';

/** The form for a new webhook. Afterwards it shows the signing secret. */
export function NewWebhook(props: { onClose: () => void }) {
  const queryClient = useQueryClient();
  const [url, setUrl] = createSignal('');
  const [description, setDescription] = createSignal('');
  const [chosen, setChosen] = createSignal<readonly string[]>(
    eventChoices.slice(0, 2).map(({ label }) => label),
  );
  const creating = useMutation(() => ({
    mutationFn: createWebhook,
    // Not awaited: the secret is shown at once, even if the list cannot be loaded.
    onSettled: () => void queryClient.invalidateQueries({ queryKey: webhooksKey }),
  }));
  const events = () =>
    eventChoices.filter(({ label }) => chosen().includes(label)).flatMap((choice) => choice.events);
  const choose = (label: string, isChosen: boolean) =>
    setChosen((before) => [
      ...before.filter((each) => each !== label),
      ...(isChosen ? [label] : []),
    ]);
  const create = () =>
    creating.mutate({
      url: url().trim(),
      events: events(),
      ...(description().trim() !== '' && { description: description().trim() }),
    });

  return (
    <Show
      when={creating.data}
      fallback={
        <Panel title="New webhook">
          <form
            class="grid gap-5"
            onSubmit={(event) => {
              event.preventDefault();
              if (!creating.isPending) create();
            }}
          >
            <TextField
              label="Address"
              hint="The gateway posts events to it, and first a challenge that it has to answer."
              placeholder="https://hooks.example.com/gateway"
              type="url"
              value={url()}
              onChange={setUrl}
              maxLength={2000}
              isRequired
              hasFocus
            />
            <TextField
              label="Description (optional)"
              value={description()}
              onChange={setDescription}
              maxLength={500}
            />
            <fieldset class="grid gap-3">
              <legend class="mb-2 font-semibold">Events</legend>
              <For each={eventChoices}>
                {({ label, hint }) => (
                  <CheckBox
                    isChecked={chosen().includes(label)}
                    onChange={(isChecked) => choose(label, isChecked)}
                    label={label}
                    hint={hint}
                  />
                )}
              </For>
            </fieldset>
            <Show when={creating.error}>{(error) => <ErrorNotice error={error()} />}</Show>
            <div class="flex flex-wrap gap-2">
              <Button
                type="submit"
                look="primary"
                disabled={creating.isPending || events().length === 0}
              >
                {creating.isPending ? 'Creating…' : 'Create the webhook'}
              </Button>
              <Button disabled={creating.isPending} onClick={() => props.onClose()}>
                Cancel
              </Button>
            </div>
          </form>
        </Panel>
      }
    >
      {(created) => (
        <Panel title="The webhook is created">
          <ShownOnce
            title="This is its signing secret"
            label="Signing secret"
            text={created().secret}
            destination="Copy it now to the receiver, which checks with it that deliveries come from this gateway."
            onDone={() => props.onClose()}
          />
        </Panel>
      )}
    </Show>
  );
}
