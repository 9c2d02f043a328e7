import { Popover } from '@kobalte/core/popover';
import { A, useLocation } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { For, Show, createSignal } from 'solid-js';

import { usePollEveryMs } from '../api/live.tsx';
import { openApprovalsQuery } from '../features/approvals/approvals.queries.ts';
import { sortIntoQueue } from '../features/approvals/approval-view.ts';
import { useMe } from '../features/session/session.tsx';
import { Icon } from '../ui/icon.tsx';
import type { IconName } from '../ui/icon.tsx';
import { AccountItems } from './account-menu.tsx';

interface Destination {
  readonly href: string;
  readonly label: string;
  readonly icon: IconName;
  /**
   * True if only this address belongs to the destination. Otherwise addresses below it belong to it
   * too.
   */
  readonly isExact?: boolean;
  /** True if a phone shows the destination under *More*, because its bar has no room for it. */
  readonly isUnderMore?: boolean;
}

const approvals: Destination = { href: '/approvals', label: 'Approvals', icon: 'check' };
const destinations: readonly Destination[] = [
  { href: '/', label: 'Home', icon: 'home', isExact: true },
  approvals,
  { href: '/agents', label: 'Agents', icon: 'bot' },
  { href: '/services', label: 'Services', icon: 'plug' },
  { href: '/activity', label: 'Activity', icon: 'list', isUnderMore: true },
];
/** The pages about the organisation. Only admins and auditors have them. */
const orgDestinations: readonly Destination[] = [
  { href: '/members', label: 'Members', icon: 'users', isUnderMore: true },
  { href: '/webhooks', label: 'Webhooks', icon: 'webhook', isUnderMore: true },
  { href: '/settings', label: 'Settings', icon: 'settings', isUnderMore: true },
];

/** Whether the person has the pages about the organisation. */
function useHasOrgPages(): () => boolean {
  const me = useMe();
  return () => me().role === 'admin' || me().role === 'auditor';
}

const itemClass =
  'relative flex w-full items-center rounded-lg font-medium hover:bg-sunken max-lg:min-h-14 max-lg:flex-col max-lg:justify-center max-lg:gap-0.5 max-lg:text-xs lg:min-h-11 lg:gap-3 lg:px-3';

/**
 * Pages that have their own bar at the bottom of a phone. They do not show the navigation there,
 * because two bars would leave too little room.
 */
const pagesWithOwnBar = /^\/approvals\/./;

/** The main navigation: at the left of a wide window, at the bottom of a phone. */
export function Navigation() {
  const location = useLocation();
  const hasOwnBar = () => pagesWithOwnBar.test(location.pathname);
  const hasOrgPages = useHasOrgPages();
  return (
    <>
      <nav
        aria-label="Main"
        class="z-20 border-line bg-surface max-lg:fixed max-lg:inset-x-0 max-lg:bottom-0 max-lg:border-t max-lg:pb-[env(safe-area-inset-bottom)] lg:sticky lg:top-14 lg:h-[calc(100dvh-3.5rem)] lg:w-52 lg:shrink-0 lg:overflow-y-auto lg:border-r lg:p-3"
        classList={{ 'max-lg:hidden': hasOwnBar() }}
      >
        <ul class="flex lg:flex-col lg:gap-1">
          <For each={destinations}>
            {(destination) => <DestinationItem destination={destination} />}
          </For>
          <Show when={hasOrgPages()}>
            <li class="mt-3 border-t border-line px-3 pt-4 pb-1 text-sm font-semibold text-ink-soft max-lg:hidden">
              Organisation
            </li>
            <For each={orgDestinations}>
              {(destination) => <DestinationItem destination={destination} />}
            </For>
          </Show>
          <li class="grow basis-0 lg:hidden">
            <More />
          </li>
        </ul>
      </nav>
      {/* Room at the end of the page on a phone, so that the bar does not cover the end of its
          content. */}
      <Show when={!hasOwnBar()}>
        <div class="order-last h-16 lg:hidden" aria-hidden="true" />
      </Show>
    </>
  );
}

function DestinationItem(props: { destination: Destination }) {
  return (
    <li
      class="max-lg:grow max-lg:basis-0"
      classList={{ 'max-lg:hidden': props.destination.isUnderMore === true }}
    >
      <A
        href={props.destination.href}
        end={props.destination.isExact === true}
        class={itemClass}
        activeClass="text-accent lg:bg-accent-soft"
        inactiveClass="text-ink-soft"
      >
        <Icon name={props.destination.icon} />
        <span class="lg:grow">{props.destination.label}</span>
        <Show when={props.destination === approvals}>
          <OpenCount />
        </Show>
      </A>
    </li>
  );
}

/** The menu *More* of a phone: the pages for which the bar has no room, and the account. */
function More() {
  const location = useLocation();
  const [isOpen, setOpen] = createSignal(false);
  const leave = () => setOpen(false);
  const hasOrgPages = useHasOrgPages();
  const pages = () => [
    ...destinations.filter(({ isUnderMore }) => isUnderMore),
    ...(hasOrgPages() ? orgDestinations : []),
  ];
  const isHere = () =>
    ['/profile', ...pages().map(({ href }) => href)].some((href) =>
      location.pathname.startsWith(href),
    );
  return (
    <Popover gutter={8} placement="top-end" open={isOpen()} onOpenChange={setOpen}>
      <Popover.Trigger
        class={itemClass}
        classList={{ 'text-accent': isHere(), 'text-ink-soft': !isHere() }}
      >
        <Icon name="more" />
        More
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content class="z-40 w-64 rounded-xl border border-line bg-surface p-2 shadow-lg">
          <div class="mb-2 border-b border-line pb-2">
            <For each={pages()}>
              {({ href, icon, label }) => (
                <A
                  href={href}
                  class="flex min-h-11 items-center gap-3 rounded-lg px-3 font-semibold hover:bg-sunken"
                  activeClass="text-accent"
                  inactiveClass="text-ink-soft"
                  onClick={leave}
                >
                  <Icon name={icon} /> {label}
                </A>
              )}
            </For>
          </div>
          <AccountItems onLeave={leave} />
        </Popover.Content>
      </Popover.Portal>
    </Popover>
  );
}

/** How many approvals wait for this person. Approvals that others decide first do not count. */
function OpenCount() {
  const me = useMe();
  const pollEveryMs = usePollEveryMs();
  const openApprovals = useQuery(() => ({
    ...openApprovalsQuery(),
    refetchInterval: pollEveryMs(),
  }));
  const count = () => sortIntoQueue(openApprovals.data?.items ?? [], me().id).mine.length;
  return (
    <Show when={count() > 0}>
      <span class="min-w-6 rounded-full bg-accent px-1.5 text-center text-sm font-semibold text-on-accent tabular-nums max-lg:absolute max-lg:top-1 max-lg:left-[calc(50%+0.5rem)] max-lg:text-xs">
        {count()}
        {openApprovals.data?.next_cursor ? '+' : ''}
        <span class="sr-only"> open</span>
      </span>
    </Show>
  );
}
