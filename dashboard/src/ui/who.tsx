import { For, Show } from 'solid-js';

import type { IdentityReference } from '#contracts/vocabulary';
import { Icon } from './icon.tsx';
import { VisibleText } from './visible-text.tsx';

/** The agent that asks, and the line from its user down to it. */
export function Who(props: { requester: IdentityReference; wants?: string }) {
  return (
    <div class="flex min-w-0 items-center gap-3">
      <span class="grid size-10 shrink-0 place-items-center rounded-xl bg-sunken text-ink-soft">
        <Icon name="bot" class="size-6" />
      </span>
      <div class="min-w-0">
        <p class="leading-tight">
          <strong class="font-semibold">
            <VisibleText text={props.requester.name} />
          </strong>{' '}
          {props.wants ?? 'asks to'}
        </p>
        <p class="text-sm text-ink-soft">
          <span class="sr-only">{props.requester.kind}, path: </span>
          <For each={props.requester.path}>
            {(name, at) => (
              <>
                <Show when={at() > 0}>
                  <span aria-hidden="true"> › </span>
                  <span class="sr-only">, </span>
                </Show>
                <VisibleText text={name} />
              </>
            )}
          </For>
        </p>
      </div>
    </div>
  );
}
