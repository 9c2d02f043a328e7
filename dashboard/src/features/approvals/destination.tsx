import { For, Show, createMemo } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { VisibleText } from '../../ui/visible-text.tsx';
import { toRequestView } from './request-view.ts';

/**
 * Method and host of the request, below the sentence about the action. The template's author wrote
 * that sentence, and the sentence may leave both out. On a phone method and host take one line, so
 * that the first disclosed fields fit as well. The whole address is part of the exact request.
 */
export function Destination(props: { request: ApprovalResponse['request'] }) {
  const view = createMemo(() => toRequestView(props.request));
  return (
    <p
      class="mt-1.5 rounded-lg bg-sunken px-3 py-1 font-mono text-sm wrap-anywhere sm:mt-3 sm:py-2"
      dir="ltr"
    >
      <span class="line-clamp-1 sm:line-clamp-4">
        <strong>
          <VisibleText text={view().method} />
        </strong>{' '}
        <Show when={view().host}>
          {(host) => (
            <strong>
              <VisibleText text={host()} />
            </strong>
          )}
        </Show>
        <span class="text-ink-soft">
          <For each={view().pathAndQuery.split(/(?<=[/?&])/)}>
            {(part) => (
              <>
                <VisibleText text={part} />
                <wbr />
              </>
            )}
          </For>
        </span>
      </span>
    </p>
  );
}
