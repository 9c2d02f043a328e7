import { useMutation } from '@tanstack/solid-query';
import { For, Show, createEffect, createSignal } from 'solid-js';

import type { Identity } from '#contracts/http/identities';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { useIsPageShown } from '../../ui/first-answers.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { personNameOf, toAgentName } from './agent-view.ts';
import type { Standing } from './agent-view.ts';
import { updateIdentity } from './agents.queries.ts';
import { StandingBadge } from './standing-badge.tsx';
import { useRefreshAgents, useStanding } from './use-standing.ts';

/**
 * Shows who the agent is and its state (such as paused), and the button that pauses or resumes it.
 */
export function AgentHeader(props: { identity: Identity; standing: Standing; canChange: boolean }) {
  const [isRenaming, setRenaming] = createSignal(false);
  let renameButton: HTMLButtonElement | undefined;
  const stopRenaming = () => {
    setRenaming(false);
    renameButton?.focus();
  };
  const changing = useStanding();
  let heading: HTMLHeadingElement | undefined;
  const isPageShown = useIsPageShown();
  createEffect(() => {
    if (isPageShown()) heading?.focus({ preventScroll: true });
  });
  const isPaused = () => props.identity.status === 'archived';
  const changeStanding = () =>
    changing.mutate({ id: props.identity.id, verb: isPaused() ? 'restore' : 'archive' });

  return (
    <section class="rounded-2xl border border-line bg-surface p-4 sm:p-6">
      <div class="flex items-start gap-3">
        <span class="grid size-12 shrink-0 place-items-center rounded-xl bg-sunken text-ink-soft max-sm:hidden">
          <Icon name="bot" class="size-7" />
        </span>
        <div class="min-w-0 grow">
          <div class="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h1
              ref={(element) => (heading = element)}
              tabindex="-1"
              class="text-xl font-semibold wrap-anywhere sm:text-2xl"
            >
              <VisibleText text={props.identity.name} />
            </h1>
            <StandingBadge standing={props.standing} />
          </div>
          <PathAndTimes identity={props.identity} />
        </div>
      </div>
      <Show when={isPaused() && props.canChange}>
        <div class="mt-4">
          <Notice tone="warning">
            Its calls are refused until you resume it, and so are those of its subagents. Keys and
            permissions are kept.
          </Notice>
        </div>
      </Show>
      <Show when={props.canChange}>
        <div class="mt-4 flex flex-wrap gap-2">
          <Button
            look={isPaused() ? 'primary' : 'plain'}
            disabled={changing.isPending}
            onClick={changeStanding}
          >
            <Icon name={isPaused() ? 'play' : 'pause'} />
            {isPaused() ? 'Resume' : 'Pause'}
          </Button>
          <Show when={!isRenaming()}>
            <Button ref={(element) => (renameButton = element)} onClick={() => setRenaming(true)}>
              Rename
            </Button>
          </Show>
        </div>
      </Show>
      <Show when={changing.error}>
        {(error) => (
          <div class="mt-4">
            <ErrorNotice error={error()} />
          </div>
        )}
      </Show>
      <Show when={isRenaming() && props.canChange}>
        <Rename identity={props.identity} onClose={stopRenaming} />
      </Show>
    </section>
  );
}

function PathAndTimes(props: { identity: Identity }) {
  return (
    <>
      <p class="text-sm wrap-anywhere text-ink-soft">
        <For each={[personNameOf(props.identity), ...props.identity.path.slice(1)]}>
          {(name, index) => (
            <>
              <Show when={index() > 0}>
                <span aria-hidden="true"> › </span>
                <span class="sr-only">, </span>
              </Show>
              <VisibleText text={name} />
            </>
          )}
        </For>
      </p>
      <p class="text-sm text-ink-soft">
        <Show when={props.identity.last_active_at} fallback="Not used yet">
          {(at) => (
            <>
              Used <TimeAgo at={at()} />
            </>
          )}
        </Show>
        {' · added '}
        <TimeAgo at={props.identity.created_at} />
        <Show when={props.identity.expires_at}>
          {(at) => <> · ends on {new Date(at()).toLocaleDateString()}</>}
        </Show>
      </p>
    </>
  );
}

function Rename(props: { identity: Identity; onClose: () => void }) {
  const [enteredName, setEnteredName] = createSignal<string>();
  const name = () => enteredName() ?? props.identity.name;
  const refresh = useRefreshAgents();
  const renaming = useMutation(() => ({
    mutationFn: updateIdentity,
    onSuccess: () => props.onClose(),
    onSettled: refresh,
  }));
  return (
    <form
      class="mt-4 grid gap-3 border-t border-line pt-4"
      onSubmit={(event) => {
        event.preventDefault();
        renaming.mutate({ id: props.identity.id, body: { name: toAgentName(name()) } });
      }}
    >
      <TextField
        label="New name"
        hint="Small letters, digits, - and _. Permissions and keys stay as they are."
        value={name()}
        onChange={setEnteredName}
        maxLength={63}
        isRequired
        hasFocus
      />
      <Show when={renaming.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <div class="flex flex-wrap gap-2">
        <Button type="submit" look="primary" disabled={renaming.isPending}>
          {renaming.isPending ? 'Saving…' : 'Save the name'}
        </Button>
        <Button onClick={() => props.onClose()}>Cancel</Button>
      </div>
    </form>
  );
}
