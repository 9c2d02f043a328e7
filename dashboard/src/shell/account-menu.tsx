import { Popover } from '@kobalte/core/popover';
import { useMutation } from '@tanstack/solid-query';
import { Show } from 'solid-js';

import { useMe } from '../features/session/session.tsx';
import { signOut } from '../features/session/session.queries.ts';
import { announce } from '../ui/announcer.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { VisibleText } from '../ui/visible-text.tsx';

/** Who is signed in, where, and the way out. */
export function AccountMenu() {
  const me = useMe();
  const leaving = useMutation(() => ({
    mutationFn: signOut,
    // A page loaded anew keeps nothing of what this one knew.
    onSuccess: () => location.assign('/'),
    onError: (error: Error) => announce(error.message),
  }));

  return (
    <Popover gutter={6} placement="bottom-end">
      <Popover.Trigger
        class="flex min-h-11 max-w-56 items-center gap-2 rounded-lg px-2 font-medium hover:bg-sunken"
        aria-label={`Account of ${me().name}`}
      >
        <span class="grid size-8 shrink-0 place-items-center rounded-full bg-accent-soft text-accent">
          <Icon name="user" />
        </span>
        <span class="truncate max-sm:hidden">
          <VisibleText text={me().name} />
        </span>
        <Icon name="chevron" class="size-4 shrink-0 text-ink-soft" />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content class="z-40 w-64 rounded-xl border border-line bg-surface p-2 shadow-lg">
          <div class="mb-2 border-b border-line px-3 pt-1 pb-3">
            <Popover.Title class="font-semibold">
              <VisibleText text={me().name} />
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
          <Button
            look="quiet"
            class="w-full justify-start! px-3!"
            disabled={leaving.isPending}
            onClick={() => leaving.mutate()}
          >
            {leaving.isPending ? 'Signing out…' : 'Sign out'}
          </Button>
          <Show when={leaving.error}>
            {(error) => <p class="px-3 pt-1 text-sm text-high">{error().message}</p>}
          </Show>
        </Popover.Content>
      </Popover.Portal>
    </Popover>
  );
}
