import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { Show, createSignal, untrack } from 'solid-js';

import type { Profile } from '#contracts/http/profile';
import { sessionKey } from '../../api/query-client.ts';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { PersonName } from '../../ui/who.tsx';
import { changeProfile, profileQuery } from './profile.queries.ts';

/** Twice the allowed length, because a field counts an emoji as two characters. */
const fieldCharactersMax = 160;

/** The form for the person's own display name. It also shows how others will see the name. */
export function DisplayNameForm(props: { profile: Profile }) {
  const queryClient = useQueryClient();
  // Only the first value is used: a later value must not overwrite what the person types.
  const [typed, setTyped] = createSignal(untrack(() => props.profile.display_name) ?? '');
  const wanted = () => typed().trim() || null;
  const isChanged = () => wanted() !== props.profile.display_name;
  const saving = useMutation(() => ({
    mutationFn: changeProfile,
    onSuccess: (changed: Profile) => {
      queryClient.setQueryData(profileQuery().queryKey, changed);
      setTyped(changed.display_name ?? '');
      announce('Your name is saved.');
      void queryClient.invalidateQueries({ queryKey: sessionKey });
    },
  }));

  return (
    <form
      class="grid gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (isChanged() && !saving.isPending) saving.mutate({ display_name: wanted() });
      }}
    >
      <TextField
        label="Display name"
        hint="How others see you, at most 80 characters. Your handle is always shown beside it."
        value={typed()}
        onChange={setTyped}
        maxLength={fieldCharactersMax}
      />
      <p class="wrap-anywhere text-ink-soft">
        Others see{' '}
        <strong class="font-semibold text-ink">
          <PersonName handle={props.profile.handle} displayName={wanted()} />
        </strong>
      </p>
      <Show when={saving.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <div class="flex flex-wrap items-center gap-3">
        <Button type="submit" look="primary" disabled={!isChanged() || saving.isPending}>
          {saving.isPending ? 'Saving…' : 'Save name'}
        </Button>
        <Show when={saving.isSuccess && !isChanged()}>
          <span class="text-accent">Saved</span>
        </Show>
      </div>
    </form>
  );
}
