import { A } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { Show } from 'solid-js';
import type { JSX } from 'solid-js';

import { Live, usePollEveryMs } from '../api/live.tsx';
import { announceEvent } from '../features/approvals/announce-event.ts';
import { openApprovalsQuery } from '../features/approvals/approvals.queries.ts';
import { Announcer } from '../ui/announcer.tsx';
import { Logo } from '../ui/icon.tsx';
import { AccountMenu } from './account-menu.tsx';
import { HelpDialog } from './help-dialog.tsx';
import { LiveState } from './live-state.tsx';

/** What is around every page of somebody who is signed in. */
export function Shell(props: { children?: JSX.Element }) {
  return (
    <Live onEvent={announceEvent}>
      <a
        href="#content"
        class="sr-only z-50 rounded-lg bg-surface px-4 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to the content
      </a>
      <header class="sticky top-0 z-30 border-b border-line bg-surface">
        <div class="mx-auto flex h-14 max-w-7xl items-center gap-2 px-3 sm:gap-4 sm:px-6">
          <A href="/approvals" class="flex items-center gap-3 rounded-lg font-semibold">
            <Logo />
            <span class="whitespace-nowrap max-md:sr-only">Agent Action Gateway</span>
          </A>
          <nav class="grow sm:ml-2" aria-label="Main">
            <ApprovalsLink />
          </nav>
          <LiveState />
          <HelpDialog />
          <AccountMenu />
        </div>
      </header>
      {props.children}
      <Announcer />
    </Live>
  );
}

function ApprovalsLink() {
  const pollEveryMs = usePollEveryMs();
  const open = useQuery(() => ({ ...openApprovalsQuery(), refetchInterval: pollEveryMs() }));
  const count = () => open.data?.items.length ?? 0;

  return (
    <A
      href="/approvals"
      class="inline-flex min-h-11 items-center gap-2 rounded-lg px-3 font-medium hover:bg-sunken"
      activeClass="text-ink"
      inactiveClass="text-ink-soft"
    >
      Approvals
      <Show when={count() > 0}>
        <span class="min-w-6 rounded-full bg-accent px-1.5 text-center text-sm font-semibold text-on-accent tabular-nums">
          {count()}
          {open.data?.next_cursor ? '+' : ''}
          <span class="sr-only"> open</span>
        </span>
      </Show>
    </A>
  );
}
