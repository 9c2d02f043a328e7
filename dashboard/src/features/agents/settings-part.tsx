import { useMutation } from '@tanstack/solid-query';
import { Show, createSignal, createUniqueId } from 'solid-js';

import type { Identity, UpdateIdentityBody } from '#contracts/http/identities';
import { serverNowMs } from '../../api/server-clock.ts';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { fieldLook } from '../../ui/field.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { Panel } from '../../ui/panel.tsx';
import { dayOf, endOfDay } from './agent-view.ts';
import { updateIdentity } from './agents.queries.ts';
import { CheckBox } from '../../ui/check-box.tsx';
import { useRefreshAgents } from './use-standing.ts';

/**
 * The settings of the agent, such as when it expires. Each switch is stored as soon as it is
 * changed.
 */
export function SettingsPart(props: { identity: Identity }) {
  const refresh = useRefreshAgents();
  const saving = useMutation(() => ({
    mutationFn: updateIdentity,
    onSuccess: () => announce('Saved'),
    onSettled: refresh,
  }));
  const save = (body: UpdateIdentityBody) => saving.mutate({ id: props.identity.id, body });
  // Shows the person's choice until it is stored or refused, even if the agent is loaded again
  // meanwhile.
  const shown = (name: 'auto_call_on_approve' | 'inherit_permissions') =>
    (saving.isPending ? saving.variables.body[name] : undefined) ?? props.identity[name];

  return (
    <Panel title="Settings">
      <div class="grid gap-4">
        <CheckBox
          isChecked={shown('auto_call_on_approve')}
          onChange={(isOn) => save({ auto_call_on_approve: isOn })}
          isDisabled={saving.isPending}
          label="Run calls as soon as they are allowed"
          hint="Otherwise an allowed call waits until the agent asks for it again."
        />
        <Show when={props.identity.kind === 'subagent'}>
          <CheckBox
            isChecked={shown('inherit_permissions')}
            onChange={(isOn) => save({ inherit_permissions: isOn })}
            isDisabled={saving.isPending}
            label="May do what the agent above it may do"
            hint="Otherwise it has only permissions of its own."
          />
        </Show>
        <ExpiryField identity={props.identity} isBusy={saving.isPending} onSave={save} />
        <Show when={saving.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      </div>
    </Panel>
  );
}

function ExpiryField(props: {
  identity: Identity;
  isBusy: boolean;
  onSave: (body: UpdateIdentityBody) => void;
}) {
  const [chosenDay, setChosenDay] = createSignal<string>();
  const id = createUniqueId();
  const day = () => chosenDay() ?? dayOf(props.identity.expires_at);
  const save = () => {
    props.onSave({ expires_at: endOfDay(day()) });
    setChosenDay(undefined);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <label for={id} class="font-medium">
        Last day
      </label>
      <p id={`${id}-hint`} class="text-sm text-ink-soft">
        After it the agent can never act again. Empty means that it does not end.
      </p>
      <div class="mt-2 flex flex-wrap gap-2">
        <input
          id={id}
          aria-describedby={`${id}-hint`}
          type="date"
          class={`${fieldLook} max-w-48`}
          min={dayOf(new Date(serverNowMs()).toISOString())}
          value={day()}
          onInput={(event) => setChosenDay(event.currentTarget.value)}
        />
        <Button type="submit" disabled={props.isBusy || day() === dayOf(props.identity.expires_at)}>
          Save the day
        </Button>
      </div>
    </form>
  );
}
