import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { Show, createSignal } from 'solid-js';

import type { SecretDetail } from '#contracts/http/secrets';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { parseHosts } from '../provide/hosts.ts';
import { updateSecret } from './credentials.queries.ts';
import { HostsField } from './hosts-field.tsx';
import { errorOfField, isSaidByField } from './secret-errors.ts';
import type { SecretField } from './secret-errors.ts';

export const descriptionMax = 500;

/** The form for changing the hosts and the description of a secret. */
export function SecretSettings(props: { secret: SecretDetail; onDone: () => void }) {
  const queryClient = useQueryClient();
  // oxlint-disable solid/reactivity -- only first values: later ones must not change the form
  const [hosts, setHosts] = createSignal(props.secret.allowed_hosts.join('\n'));
  const [description, setDescription] = createSignal(props.secret.description ?? '');
  // oxlint-enable solid/reactivity
  const saving = useMutation(() => ({
    mutationFn: () =>
      updateSecret({
        id: props.secret.id,
        body: {
          allowed_hosts: parseHosts(hosts()),
          description: description().trim() === '' ? null : description().trim(),
        },
      }),
    onSuccess: async () => {
      announce('Saved');
      await queryClient.invalidateQueries();
      props.onDone();
    },
  }));
  const errorOf = (field: SecretField) => errorOfField(saving.error, field, parseHosts(hosts()));
  const otherError = () =>
    saving.error !== null && !isSaidByField(saving.error, ['allowed_hosts', 'description'])
      ? saving.error
      : undefined;
  return (
    <form
      class="grid gap-4"
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        if (!saving.isPending) saving.mutate();
      }}
    >
      <HostsField
        hint="One host a line. Services at a host that you take away cannot be called with it any more."
        value={hosts()}
        onChange={setHosts}
        isRequired={props.secret.tier === 'org'}
        error={errorOf('allowed_hosts')}
        hasFocus
      />
      <TextField
        label="Description"
        hint="For people: what it is, and where it comes from."
        value={description()}
        onChange={setDescription}
        maxLength={descriptionMax}
        error={errorOf('description')}
      />
      <Show when={otherError()}>{(error) => <ErrorNotice error={error()} />}</Show>
      <div class="flex flex-wrap gap-2">
        <Button type="submit" look="primary" disabled={saving.isPending}>
          {saving.isPending ? 'Saving…' : 'Save'}
        </Button>
        <Button onClick={() => props.onDone()}>Cancel</Button>
      </div>
    </form>
  );
}
