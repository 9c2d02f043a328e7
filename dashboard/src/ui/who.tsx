import { For, Show } from 'solid-js';

import type { ShownIdentity } from '#contracts/vocabulary';
import { Icon } from './icon.tsx';
import { VisibleText } from './visible-text.tsx';

/**
 * A person: the display name, if there is one, and always the handle, which is unique. The handle
 * is in the typeface for names in the gateway, so that a display name cannot look like a handle.
 */
export function PersonName(props: { handle: string; displayName: string | null | undefined }) {
  return (
    <Show when={props.displayName} fallback={<VisibleText text={props.handle} />}>
      {(displayName) => (
        <>
          <VisibleText text={displayName()} />{' '}
          <span class="font-mono text-[0.9em] font-normal">
            (<VisibleText text={props.handle} />)
          </span>
        </>
      )}
    </Show>
  );
}

/** The agent that asks for the call, and its path: the identities above it, from the user down. */
export function RequesterPath(props: { requester: ShownIdentity; wantsWords?: string }) {
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
          {props.wantsWords ?? 'asks to'}
        </p>
        <p class="text-sm text-ink-soft">
          <span class="sr-only">{props.requester.kind}, path: </span>
          <For each={props.requester.path}>
            {(name, index) => (
              <>
                <Show when={index() > 0}>
                  <span aria-hidden="true"> › </span>
                  <span class="sr-only">, </span>
                </Show>
                <Show when={index() === 0} fallback={<VisibleText text={name} />}>
                  <PersonName handle={name} displayName={props.requester.display_name} />
                </Show>
              </>
            )}
          </For>
        </p>
      </div>
    </div>
  );
}
