import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { Show, createSignal } from 'solid-js';

import type { Invitation } from '#contracts/http/users';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { inviteMember, membersKey } from './members.queries.ts';
import { RoleChoice } from './role-choice.tsx';
import type { Role } from './role-words.ts';

/** The form for a new member. Afterwards it shows the one-time sign-in link for that person. */
export function InviteMember(props: { onClose: () => void }) {
  const queryClient = useQueryClient();
  const [email, setEmail] = createSignal('');
  const [role, setRole] = createSignal<Role>('member');
  const inviting = useMutation(() => ({
    mutationFn: inviteMember,
    // Not awaited: the link is shown at once, even if the list cannot be loaded.
    onSettled: () => void queryClient.invalidateQueries({ queryKey: membersKey }),
  }));

  return (
    <Show
      when={inviting.data}
      fallback={
        <Panel title="Invite a person">
          <form
            class="grid gap-5"
            onSubmit={(event) => {
              event.preventDefault();
              if (!inviting.isPending) inviting.mutate({ email: email().trim(), role: role() });
            }}
          >
            <TextField
              label="E-mail address"
              hint="The gateway sends no mail: you get a link to send to the person."
              type="email"
              value={email()}
              onChange={setEmail}
              maxLength={254}
              isRequired
              hasFocus
            />
            <RoleChoice name="invited-role" role={role()} onChoose={setRole} />
            <Show when={inviting.error}>{(error) => <ErrorNotice error={error()} />}</Show>
            <div class="flex flex-wrap gap-2">
              <Button type="submit" look="primary" disabled={inviting.isPending}>
                {inviting.isPending ? 'Inviting…' : 'Invite'}
              </Button>
              <Button disabled={inviting.isPending} onClick={() => props.onClose()}>
                Cancel
              </Button>
            </div>
          </form>
        </Panel>
      }
    >
      {(invitation) => <Invited invitation={invitation()} onClose={() => props.onClose()} />}
    </Show>
  );
}

function Invited(props: { invitation: Invitation; onClose: () => void }) {
  return (
    <Panel
      title={
        <>
          <VisibleText text={props.invitation.user.name} /> is invited
        </>
      }
    >
      <SignInLinkOnce
        url={props.invitation.url}
        expiresAt={props.invitation.expires_at}
        onDone={() => props.onClose()}
      />
    </Panel>
  );
}

/** Shows a link with which one person can sign in once. */
export function SignInLinkOnce(props: { url: string; expiresAt: string; onDone: () => void }) {
  return (
    <>
      <ShownOnce
        title="This link signs the person in, once"
        label="One-time link"
        text={props.url}
        destination="Send it only to that person: anyone who uses it first signs in as them."
        onDone={() => props.onDone()}
      />
      <p class="mt-2 text-sm text-ink-soft">
        It works until {new Date(props.expiresAt).toLocaleString()}. The person chooses a password
        after signing in.
      </p>
    </>
  );
}
