import { For, Show } from 'solid-js';

import { toVisibleSegments } from './visible-characters.ts';

/**
 * Shows text of an agent or a third party as plain text nodes, isolated from the text around them.
 * Every character that could hide something is shown by its name
 * (docs/reference/approvals.md#the-card).
 */
export function VisibleText(props: { text: string; multiline?: boolean; class?: string }) {
  return (
    <span class="foreign" classList={{ [props.class ?? '']: props.class !== undefined }}>
      <For each={toVisibleSegments(props.text, { multiline: props.multiline === true })}>
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
