import { For, Show, createMemo } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { VisibleText } from '../../ui/visible-text.tsx';
import { toRequestView } from './request-view.ts';

/** Method and host as they will be sent, below the action's sentence, which a template's author wrote. */
export function Destination(props: { request: ApprovalResponse['request'] }) {
  const view = createMemo(() => toRequestView(props.request));
  return (
    <p
      class="mt-2 rounded-lg bg-sunken px-3 py-1.5 font-mono text-sm wrap-anywhere sm:mt-3 sm:py-2"
      dir="ltr"
    >
      <span class="line-clamp-2 sm:line-clamp-4">
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
          <For each={view().target.split(/(?<=[/?&])/)}>
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
