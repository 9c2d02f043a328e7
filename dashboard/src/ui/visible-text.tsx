import { For, Show } from 'solid-js';

import { visibleSegments } from './visible-characters.ts';

/**
 * Text that came from an agent or from a third party: plain text nodes, isolated from the text
 * around it, with every character that could hide something named
 * (docs/reference/approvals.md#the-card).
 */
export function VisibleText(props: { text: string; multiline?: boolean; class?: string }) {
  return (
    <span class="foreign" classList={{ [props.class ?? '']: props.class !== undefined }}>
      <For each={visibleSegments(props.text, { multiline: props.multiline === true })}>
        {(segment) => (
          <Show when={segment.kind === 'mark'} fallback={segment.text}>
            <span class="mark" title="A character that cannot be seen">
              {segment.text}
            </span>
          </Show>
        )}
      </For>
    </span>
  );
}
