import { A } from '@solidjs/router';
import { For } from 'solid-js';

/** Tabs that are links to different addresses. One of them is the current tab. */
export function TabLinks(props: {
  /** A name for the group of tabs, for screen readers. */
  label: string;
  tabs: readonly { readonly href: string; readonly text: string; readonly isCurrent: boolean }[];
}) {
  return (
    <nav class="my-4 flex max-w-md gap-1 rounded-xl bg-line p-1" aria-label={props.label}>
      <For each={props.tabs}>
        {(tab) => (
          <A
            href={tab.href}
            end
            class="min-h-10 grow basis-0 content-center rounded-lg text-center text-sm font-semibold"
            classList={{
              'bg-surface text-ink shadow-sm': tab.isCurrent,
              'text-ink-soft hover:text-ink': !tab.isCurrent,
            }}
            aria-current={tab.isCurrent ? 'page' : false}
          >
            {tab.text}
          </A>
        )}
      </For>
    </nav>
  );
}
