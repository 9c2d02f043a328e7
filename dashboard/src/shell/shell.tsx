import { A, useNavigate } from '@solidjs/router';
import type { JSX } from 'solid-js';

import type { EventType } from '#contracts/event-types';
import { LiveUpdates } from '../api/live.tsx';
import { announceEvent } from '../features/approvals/announce-event.ts';
import { notifyOfEvent } from '../features/notifications/notifications.ts';
import { useMe } from '../features/session/session.tsx';
import { Announcer } from '../ui/announcer.tsx';
import { Logo } from '../ui/icon.tsx';
import { AccountMenu } from './account-menu.tsx';
import { AwayNotice } from './away-notice.tsx';
import { HelpDialog } from './help-dialog.tsx';
import { LiveState } from './live-state.tsx';
import { Navigation } from './navigation.tsx';

/** The frame around every page for a signed-in person. */
export function Shell(props: { children?: JSX.Element }) {
  const me = useMe();
  const navigate = useNavigate();
  const onEvent = (type: EventType, data: unknown) => {
    announceEvent(type, data);
    const onOpen = (id: string) => navigate(`/approvals/${id}`);
    notifyOfEvent({ type, data }, { personId: me().id, onOpen });
  };
  return (
    <LiveUpdates personId={me().id} onEvent={onEvent}>
      <a
        href="#content"
        class="sr-only z-50 rounded-lg bg-surface px-4 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to the content
      </a>
      <header class="sticky top-0 z-30 border-b border-line bg-surface">
        <div class="flex h-14 items-center gap-2 px-3 sm:gap-4 sm:px-6">
          <A href="/" class="flex min-h-11 items-center gap-3 rounded-lg font-semibold">
            <Logo />
            <span class="whitespace-nowrap max-sm:sr-only">Agent Action Gateway</span>
          </A>
          <LiveState />
          <HelpDialog />
          <AccountMenu />
        </div>
      </header>
      <AwayNotice />
      <div class="flex max-lg:flex-col">
        <Navigation />
        <div class="min-w-0 grow">{props.children}</div>
      </div>
      <Announcer />
    </LiveUpdates>
  );
}
