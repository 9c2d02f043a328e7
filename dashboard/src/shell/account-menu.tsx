import { DropdownMenu } from '@kobalte/core/dropdown-menu';
import { useMutation } from '@tanstack/solid-query';
import { Show } from 'solid-js';

import { useMe } from '../features/session/session.tsx';
import { signOut } from '../features/session/session.queries.ts';
import { announce } from '../ui/announcer.tsx';
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
    <DropdownMenu gutter={6} placement="bottom-end">
      <DropdownMenu.Trigger
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
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content class="z-40 w-64 rounded-xl border border-line bg-surface p-2 shadow-lg">
          <div class="px-3 pt-1 pb-3">
            <p class="font-semibold">
              <VisibleText text={me().name} />
            </p>
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
          <DropdownMenu.Separator class="border-line" />
          <DropdownMenu.Item
            class="mt-2 flex min-h-11 items-center rounded-lg px-3 outline-none data-[highlighted]:bg-sunken"
            closeOnSelect={false}
            disabled={leaving.isPending}
            onSelect={() => leaving.mutate()}
          >
            {leaving.isPending ? 'Signing out…' : 'Sign out'}
          </DropdownMenu.Item>
          <Show when={leaving.error}>
            {(error) => <p class="px-3 pt-1 text-sm text-high">{error().message}</p>}
          </Show>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu>
  );
}
