import { A } from '@solidjs/router';
import { For } from 'solid-js';

import { pathOfReference } from '../services/service-view.ts';

/** Links to the services that use a credential. */
export function UsedBy(props: { references: readonly string[] }) {
  return (
    <ul class="flex flex-wrap gap-x-3">
      <For each={props.references}>
        {(reference) => (
          <li>
            <A
              href={pathOfReference(reference)}
              class="inline-flex min-h-6 items-center font-mono wrap-anywhere underline underline-offset-4"
            >
              {reference}
            </A>
          </li>
        )}
      </For>
    </ul>
  );
}
