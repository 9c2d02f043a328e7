import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { Match, Show, Switch, createSignal } from 'solid-js';

import type { Identity } from '#contracts/http/identities';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { Chip } from '../../ui/chip.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { ActAfterQuestion } from '../../ui/question.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { PersonName } from '../../ui/who.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { changeStanding, revokeIdentity } from '../agents/agents.queries.ts';
import { SignInLinkOnce } from './invite-member.tsx';
import { changeMember, createSignInLink, membersKey } from './members.queries.ts';
import { RoleChoice } from './role-choice.tsx';
import type { Role } from './role-words.ts';

const statusWords = { active: undefined, archived: 'Paused', revoked: 'Removed' } as const;

/** A row with one person of the org, and the settings of that person that an admin can change. */
export function MemberRow(props: { member: Identity; isMe: boolean; canChange: boolean }) {
  const [isOpen, setOpen] = createSignal(false);
  const mayManage = () => props.canChange && !props.isMe && props.member.status !== 'revoked';
  return (
    <li class="p-4">
      <div class="flex flex-wrap items-center gap-x-4 gap-y-2">
        <span class="grid size-9 shrink-0 place-items-center rounded-full bg-sunken text-ink-soft max-sm:hidden">
          <Icon name="user" />
        </span>
        <div class="min-w-0 grow basis-48">
          <p class="flex flex-wrap items-center gap-2 font-medium wrap-anywhere">
            <span class="min-w-0">
              <PersonName handle={props.member.name} displayName={props.member.display_name} />
            </span>
            <Chip>{props.member.role ?? 'member'}</Chip>
            <Show when={props.isMe}>
              <Chip>You</Chip>
            </Show>
            <Show when={statusWords[props.member.status]}>{(word) => <Chip>{word()}</Chip>}</Show>
          </p>
          <p class="text-sm wrap-anywhere text-ink-soft">
            <Show when={props.member.email}>
              {(email) => (
                <>
                  <VisibleText text={email()} />
                  {' · '}
                </>
              )}
            </Show>
            <Show when={props.member.last_active_at} fallback="not active yet">
              {(at) => (
                <>
                  active <TimeAgo at={at()} inSentence />
                </>
              )}
            </Show>
          </p>
        </div>
        <Show when={mayManage()}>
          <Button
            aria-expanded={isOpen()}
            aria-label={`${isOpen() ? 'Close' : 'Manage'} ${props.member.name}`}
            onClick={() => setOpen((open) => !open)}
          >
            {isOpen() ? 'Close' : 'Manage'}
          </Button>
        </Show>
      </div>
      <Show when={isOpen() && mayManage()}>
        <ManageMember member={props.member} />
      </Show>
    </li>
  );
}

function useRefreshMembers() {
  const queryClient = useQueryClient();
  return () => queryClient.invalidateQueries({ queryKey: membersKey });
}

function ManageMember(props: { member: Identity }) {
  return (
    <div class="mt-4 grid grid-cols-[minmax(0,1fr)] gap-5 border-t border-line pt-4">
      <RoleForm member={props.member} />
      <NewSignInLink member={props.member} />
      <Standing member={props.member} />
    </div>
  );
}

function RoleForm(props: { member: Identity }) {
  const refresh = useRefreshMembers();
  const currentRole = () => props.member.role ?? 'member';
  const [chosenRole, setChosenRole] = createSignal<Role>();
  // Without a choice the form follows the member, whose role another admin may change.
  const role = () => chosenRole() ?? currentRole();
  const saving = useMutation(() => ({
    mutationFn: changeMember,
    onSuccess: async ({ name, role: saved }: Identity) => {
      announce(`${name} is now ${saved ?? 'member'}`);
      await refresh();
      setChosenRole(undefined);
    },
    onError: refresh,
  }));
  return (
    <form
      class="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (!saving.isPending) saving.mutate({ id: props.member.id, body: { role: role() } });
      }}
    >
      <RoleChoice name={`role-of-${props.member.id}`} role={role()} onChoose={setChosenRole} />
      <Show when={role() === 'auditor' && currentRole() !== 'auditor'}>
        <p class="text-sm text-medium">The agents of an auditor cannot act: theirs stop at once.</p>
      </Show>
      <Show when={saving.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <div>
        <Button type="submit" disabled={saving.isPending || role() === currentRole()}>
          {saving.isPending ? 'Saving…' : 'Change the role'}
        </Button>
      </div>
    </form>
  );
}

function NewSignInLink(props: { member: Identity }) {
  const creating = useMutation(() => ({ mutationFn: createSignInLink }));
  return (
    <div>
      <Show
        when={creating.data}
        fallback={
          <>
            <p class="mb-2 text-sm text-ink-soft">
              For a person who lost the invitation or the password. The newest link is the one that
              works.
            </p>
            <Show when={creating.error}>{(error) => <ErrorNotice error={error()} />}</Show>
            <Button
              disabled={creating.isPending || props.member.status !== 'active'}
              onClick={() => creating.mutate({ id: props.member.id })}
            >
              {creating.isPending ? 'One moment…' : 'Make a sign-in link'}
            </Button>
          </>
        }
      >
        {(link) => (
          <SignInLinkOnce
            url={link().url}
            expiresAt={link().expires_at}
            onDone={() => creating.reset()}
          />
        )}
      </Show>
    </div>
  );
}

function Standing(props: { member: Identity }) {
  const refresh = useRefreshMembers();
  const changing = useMutation(() => ({
    mutationFn: changeStanding,
    onSuccess: ({ name, status }: Identity) =>
      announce(status === 'archived' ? `${name} is paused` : `${name} acts again`),
    onSettled: refresh,
  }));
  const removing = useMutation(() => ({
    mutationFn: revokeIdentity,
    onSuccess: ({ name }: Identity) => announce(`${name} is removed`),
    onSettled: refresh,
  }));
  return (
    <div class="grid gap-3">
      <p class="text-sm text-ink-soft">
        A paused person cannot sign in, and calls of their agents are refused, until you resume
        them.
      </p>
      <Show when={changing.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <div class="flex flex-wrap gap-2">
        <Switch>
          <Match when={props.member.status === 'archived'}>
            <Button
              disabled={changing.isPending}
              onClick={() => changing.mutate({ id: props.member.id, verb: 'restore' })}
            >
              Resume
            </Button>
          </Match>
          <Match when={props.member.status === 'active'}>
            <Button
              aria-label={`Pause ${props.member.name}`}
              disabled={changing.isPending}
              onClick={() => changing.mutate({ id: props.member.id, verb: 'archive' })}
            >
              Pause
            </Button>
          </Match>
        </Switch>
        <ActAfterQuestion
          label="Remove for good"
          accessibleLabel={`Remove for good: ${props.member.name}`}
          question={
            <>
              Remove <VisibleText text={props.member.name} /> for good?
            </>
          }
          consequences="This cannot be undone. Their sessions, agents and agent keys end at once, and open approvals of their agents are denied. What they did stays in the activity."
          yes="Yes, remove them for good"
          isBusy={removing.isPending}
          error={removing.error}
          onYes={() => removing.mutate({ id: props.member.id })}
        />
      </div>
    </div>
  );
}
