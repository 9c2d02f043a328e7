import { useSearchParams } from '@solidjs/router';
import { useInfiniteQuery } from '@tanstack/solid-query';
import { Show, createMemo, createSignal } from 'solid-js';

import { Button } from '../../ui/button.tsx';
import { KeyedList } from '../../ui/keyed-list.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { MoreButton } from '../../ui/more-button.tsx';
import { useTitle } from '../../ui/title.ts';
import { askAgainMs } from '../agents/agents.queries.ts';
import { useMe } from '../session/session.tsx';
import { InviteMember } from './invite-member.tsx';
import { MemberRow } from './member-row.tsx';
import { membersQuery } from './members.queries.ts';

/**
 * The page with the people of the org, where admins invite them, change roles, create sign-in
 * links, and pause or remove people.
 */
export function MembersPage() {
  const me = useMe();
  const [search, setSearch] = useSearchParams<{ invite?: string }>();
  const canChange = () => me().role === 'admin';
  const isInviting = () => search.invite !== undefined && canChange();
  const members = useInfiniteQuery(() => ({ ...membersQuery(), refetchInterval: askAgainMs }));
  const [showsRemoved, setShowsRemoved] = createSignal(false);
  useTitle(() => 'Members');
  let inviteButton: HTMLButtonElement | undefined;

  const all = createMemo(() => members.data?.pages.flatMap(({ items }) => items) ?? []);
  const removedCount = () => all().filter(({ status }) => status === 'revoked').length;
  const shown = () => all().filter(({ status }) => showsRemoved() || status !== 'revoked');

  return (
    <main id="content" class="mx-auto max-w-3xl px-3 py-4 sm:px-6 sm:py-8">
      <div class="flex flex-wrap items-center justify-between gap-3">
        <h1 class="text-xl font-semibold sm:text-2xl">Members</h1>
        <Show when={!isInviting() && canChange()}>
          <Button
            ref={(element) => (inviteButton = element)}
            look="primary"
            onClick={() => setSearch({ invite: '1' })}
          >
            Invite a person
          </Button>
        </Show>
      </div>
      <Show when={isInviting()}>
        <div class="mt-4">
          <InviteMember
            onClose={() => {
              setSearch({ invite: undefined });
              queueMicrotask(() => inviteButton?.focus());
            }}
          />
        </div>
      </Show>
      <div class="mt-4 grid grid-cols-[minmax(0,1fr)] gap-4">
        <Loaded query={members}>
          {() => (
            <>
              <ul class="divide-y divide-line rounded-xl border border-line bg-surface">
                <KeyedList items={shown()} keyOf={({ id }) => id}>
                  {(member) => (
                    <MemberRow
                      member={member()}
                      isMe={member().id === me().id}
                      canChange={canChange()}
                    />
                  )}
                </KeyedList>
              </ul>
              <div class="flex flex-wrap gap-2">
                <MoreButton query={members} />
                <Show when={removedCount() > 0}>
                  <Button
                    look="quiet"
                    aria-expanded={showsRemoved()}
                    onClick={() => setShowsRemoved((isShown) => !isShown)}
                  >
                    {showsRemoved() ? 'Hide' : 'Show'} removed people ({removedCount()})
                  </Button>
                </Show>
              </div>
            </>
          )}
        </Loaded>
      </div>
    </main>
  );
}
