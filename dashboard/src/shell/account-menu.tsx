import { Popover } from '@kobalte/core/popover';
import { A } from '@solidjs/router';
import { useMutation } from '@tanstack/solid-query';
import { Show, createSignal } from 'solid-js';

import { useMe } from '../features/session/session.tsx';
import { signOut } from '../features/session/session.queries.ts';
import { announce } from '../ui/announcer.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { PersonName } from '../ui/who.tsx';
import { VisibleText } from '../ui/visible-text.tsx';

/** The menu with the signed-in person, the org, and a button to sign out. */
export function AccountMenu() {
  const me = useMe();
  const [isOpen, setOpen] = createSignal(false);
  return (
    <Popover gutter={6} placement="bottom-end" open={isOpen()} onOpenChange={setOpen}>
      <Popover.Trigger
        class="flex min-h-11 max-w-56 items-center gap-2 rounded-lg px-2 font-medium hover:bg-sunken"
        aria-label={`Account of ${me().display_name ?? me().name}`}
      >
        <span class="grid size-8 shrink-0 place-items-center rounded-full bg-accent-soft text-accent">
          <Icon name="user" />
        </span>
        <span class="truncate max-sm:hidden">
          <VisibleText text={me().display_name ?? me().name} />
        </span>
        <Icon name="chevron" class="size-4 shrink-0 text-ink-soft" />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content class="z-40 w-64 rounded-xl border border-line bg-surface p-2 shadow-lg">
          <AccountItems onLeave={() => setOpen(false)} />
        </Popover.Content>
      </Popover.Portal>
    </Popover>
  );
}

/**
 * The entries of a menu for the account. `onLeave` is called when a person follows a link in the
 * menu.
 */
export function AccountItems(props: { onLeave: () => void }) {
  const me = useMe();
  const signOutMutation = useMutation(() => ({
    mutationFn: signOut,
    // The reload discards everything that this page has in memory.
    onSuccess: () => location.assign('/'),
    onError: (error: Error) => announce(error.message),
  }));

  return (
    <>
      <div class="mb-2 border-b border-line px-3 pt-1 pb-3">
        <Popover.Title class="font-semibold wrap-anywhere">
          <PersonName handle={me().name} displayName={me().display_name} />
        </Popover.Title>
        <Show when={me().email}>
          {(email) => (
            <p class="text-sm text-ink-soft">
              <VisibleText text={email()} />
            </p>
          )}
        </Show>
        <p class="mt-1 text-sm text-ink-soft">
          {me().role ?? me().kind} of <VisibleText text={me().org.name} />
        </p>
      </div>
      <A
        href="/profile"
        class="flex min-h-11 items-center rounded-lg px-3 font-semibold text-ink-soft hover:bg-sunken hover:text-ink"
        onClick={() => props.onLeave()}
      >
        Profile
      </A>
      <Button
        look="quiet"
        class="w-full justify-start! px-3!"
        disabled={signOutMutation.isPending}
        onClick={() => signOutMutation.mutate()}
      >
        {signOutMutation.isPending ? 'Signing out…' : 'Sign out'}
      </Button>
      <Show when={signOutMutation.error}>
        {(error) => <p class="px-3 pt-1 text-sm text-high">{error().message}</p>}
      </Show>
    </>
  );
}
