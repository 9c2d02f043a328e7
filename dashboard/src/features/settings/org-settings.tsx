import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { For, Show, createUniqueId } from 'solid-js';
import { createStore, reconcile } from 'solid-js/store';

import type { ChangeOrgBody, Org } from '#contracts/http/users';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { CheckBox } from '../../ui/check-box.tsx';
import { fieldLook } from '../../ui/field.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { durationsWith, formatSeconds } from './durations.ts';
import { changeOrg, orgQuery } from './settings.queries.ts';

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

interface Duration {
  readonly name:
    | 'approval_ttl_seconds'
    | 'auto_bubble_seconds'
    | 'remember_ttl_seconds'
    | 'self_remember_max_seconds'
    | 'session_idle_seconds';
  readonly label: string;
  readonly hint: string;
  readonly usual: readonly number[];
  /** The text that is shown instead of zero seconds. */
  readonly zero?: string;
}

const durations: readonly Duration[] = [
  {
    name: 'approval_ttl_seconds',
    label: 'An approval stays open for',
    hint: 'Then it expires, and the call does not run.',
    usual: [hour, 8 * hour, day, 3 * day, 7 * day, 30 * day],
  },
  {
    name: 'auto_bubble_seconds',
    label: 'An approval moves up after',
    hint: 'A parent agent that does not decide loses the approval to the one above it, up to the person.',
    usual: [0, 5 * minute, 30 * minute, 2 * hour, day],
    zero: 'at once to the person',
  },
  {
    name: 'remember_ttl_seconds',
    label: 'A remembered permission lasts',
    hint: 'Where the decision names no time.',
    usual: [day, 7 * day, 30 * day, 90 * day, 365 * day],
  },
  {
    name: 'self_remember_max_seconds',
    label: 'A permission that a client gives itself lasts at most',
    hint: 'Applies to clients that may approve their own calls.',
    usual: [hour, day, 7 * day, 30 * day],
  },
  {
    name: 'session_idle_seconds',
    label: 'People are signed out after',
    hint: 'Without use of the dashboard. It applies to open sessions too.',
    usual: [15 * minute, hour, 12 * hour, day, 7 * day, 30 * day],
  },
];

/** The durations that apply in the org, such as when people are signed out. */
export function OrgSettings(props: { org: Org; canChange: boolean }) {
  const queryClient = useQueryClient();
  const [changes, setChanges] = createStore<ChangeOrgBody>({});
  const changedNames = () =>
    (Object.keys(changes) as (keyof ChangeOrgBody)[]).filter(
      (name) => changes[name] !== undefined && changes[name] !== props.org[name],
    );
  const saving = useMutation(() => ({
    mutationFn: changeOrg,
    onSuccess: (org: Org, saved: ChangeOrgBody) => {
      queryClient.setQueryData(orgQuery().queryKey, org);
      // Forgets the saved changes. Otherwise a later change by another admin would look like a
      // change of this person. Changes that were made meanwhile stay.
      const remainingNames = changedNames().filter((name) => changes[name] !== saved[name]);
      setChanges(
        reconcile(Object.fromEntries(remainingNames.map((name) => [name, changes[name]]))),
      );
      announce('The settings are saved');
    },
  }));
  const save = () =>
    saving.mutate(Object.fromEntries(changedNames().map((name) => [name, changes[name]])));

  return (
    <form
      class="grid gap-5"
      onSubmit={(event) => {
        event.preventDefault();
        if (changedNames().length > 0 && !saving.isPending) save();
      }}
    >
      <For each={durations}>
        {(duration) => (
          <DurationField
            duration={duration}
            seconds={changes[duration.name] ?? props.org[duration.name]}
            isDisabled={!props.canChange}
            onChange={(seconds) => setChanges(duration.name, seconds)}
          />
        )}
      </For>
      <CheckBox
        isChecked={changes.durable_read_audit ?? props.org.durable_read_audit}
        onChange={(isOn) => setChanges('durable_read_audit', isOn)}
        label="Commit the record of each read to Postgres before answering"
        hint="Otherwise NATS stores the record before the answer, which is faster. Calls that change something are always recorded first."
        isDisabled={!props.canChange}
      />
      <Show when={saving.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <Show when={props.canChange}>
        <div class="flex flex-wrap items-center gap-3">
          <Button
            type="submit"
            look="primary"
            disabled={changedNames().length === 0 || saving.isPending}
          >
            {saving.isPending ? 'Saving…' : 'Save'}
          </Button>
          <Show when={saving.isSuccess && changedNames().length === 0}>
            <span class="text-accent">Saved</span>
          </Show>
        </div>
      </Show>
    </form>
  );
}

function DurationField(props: {
  duration: Duration;
  seconds: number;
  isDisabled: boolean;
  onChange: (seconds: number) => void;
}) {
  const id = createUniqueId();
  const textOf = (seconds: number) =>
    seconds === 0 ? (props.duration.zero ?? formatSeconds(0)) : formatSeconds(seconds);
  return (
    <div>
      <label for={id} class="font-semibold">
        {props.duration.label}
      </label>
      <p id={`${id}-hint`} class="text-sm text-ink-soft">
        {props.duration.hint}
      </p>
      <select
        id={id}
        aria-describedby={`${id}-hint`}
        class={`mt-2 ${fieldLook}`}
        disabled={props.isDisabled}
        onChange={(event) => props.onChange(Number(event.currentTarget.value))}
      >
        <For each={durationsWith(props.seconds, props.duration.usual)}>
          {(seconds) => (
            <option value={seconds} selected={seconds === props.seconds}>
              {textOf(seconds)}
            </option>
          )}
        </For>
      </select>
    </div>
  );
}
