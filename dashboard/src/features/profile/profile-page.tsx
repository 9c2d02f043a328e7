import { A } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { Match, Show, Switch } from 'solid-js';

import type { Profile } from '#contracts/http/profile';
import { ButtonLink } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { useTitle } from '../../ui/title.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { roleWords } from '../members/role-words.ts';
import { DisplayNameForm } from './display-name-form.tsx';
import { NotificationChoice } from './notification-choice.tsx';
import { profileQuery } from './profile.queries.ts';
import { Section } from './section.tsx';
import { SessionList } from './session-list.tsx';
import { ThemeChoice } from './theme-choice.tsx';

/** The page with the person's own account and its settings. */
export function ProfilePage() {
  useTitle(() => 'Profile');
  const profile = useQuery(() => profileQuery());

  return (
    <main id="content" class="mx-auto grid max-w-3xl gap-5 p-4 sm:p-6">
      <h1 class="text-xl font-semibold sm:text-2xl">Profile</h1>
      <Switch fallback={<p role="status">Loading…</p>}>
        <Match when={profile.data}>
          {(shown) => (
            <>
              <Section title="Name">
                <DisplayNameForm profile={shown()} />
                <ProfileFacts profile={shown()} />
              </Section>
              <Section title="Password">
                <p class="mb-3 text-ink-soft">Changing it signs you out everywhere else.</p>
                <ButtonLink href="/sign-in/password?return_to=%2Fprofile">
                  Change password
                </ButtonLink>
              </Section>
              <Section title="Sessions">
                <SessionList />
              </Section>
              <Section title="Notifications">
                <NotificationChoice />
              </Section>
              <Section title="Webhooks">
                <p class="mb-3 text-ink-soft">
                  Webhooks tell your own programs what your agents ask for and what became of it.
                </p>
                <A
                  href="/webhooks"
                  class="inline-flex min-h-11 items-center font-semibold text-accent"
                >
                  Open webhooks
                </A>
              </Section>
              <Section title="Theme">
                <ThemeChoice />
              </Section>
            </>
          )}
        </Match>
        <Match when={profile.error}>
          {(error) => <ErrorNotice error={error()} onRetry={() => void profile.refetch()} />}
        </Match>
      </Switch>
    </main>
  );
}

function ProfileFacts(props: { profile: Profile }) {
  return (
    <dl class="mt-5 grid gap-x-6 border-t border-line pt-4 max-sm:[&>dd]:mb-2 sm:grid-cols-[auto_1fr] sm:gap-y-2 [&>dd]:wrap-anywhere [&>dt]:text-ink-soft">
      <dt>Handle</dt>
      <dd class="font-mono">
        <VisibleText text={props.profile.handle} />
      </dd>
      <Show when={props.profile.email}>
        {(email) => (
          <>
            <dt>E-mail address</dt>
            <dd>
              <VisibleText text={email()} />
            </dd>
          </>
        )}
      </Show>
      <dt>Role</dt>
      <dd>{roleWords[props.profile.role]}</dd>
      <dt>Organisation</dt>
      <dd>
        <VisibleText text={props.profile.org.name} />
      </dd>
    </dl>
  );
}
