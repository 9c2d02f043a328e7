import { A } from '@solidjs/router';
import { For } from 'solid-js';

/** Two views of one list, each with its address. */
export function ListTabs(props: { showsDecided: boolean; openCount: number | undefined }) {
  const tabs = () => [
    {
      href: '/approvals',
      text: `Open${props.openCount === undefined ? '' : ` (${props.openCount})`}`,
      isCurrent: !props.showsDecided,
    },
    { href: '/approvals?show=decided', text: 'Decided', isCurrent: props.showsDecided },
  ];
  return (
    <nav class="my-4 flex gap-1 rounded-xl bg-line p-1" aria-label="Which approvals">
      <For each={tabs()}>
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
