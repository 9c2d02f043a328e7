import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { Show, createEffect, createSignal, createUniqueId } from 'solid-js';

import type { Secret } from '#contracts/http/secrets';
import type { Tier } from '#contracts/vocabulary';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { RadioBox, SecretField, TextField } from '../../ui/field.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { secretValueMax } from '../../ui/secret-parts.ts';
import { storeSecret } from '../connect/connect.queries.ts';
import { namesIn } from '../connect/connect-view.ts';
import { parseHosts } from '../provide/hosts.ts';
import { useMe } from '../session/session.tsx';
import { HostsField } from './hosts-field.tsx';
import { errorOfField, isSaidByField } from './secret-errors.ts';
import type { SecretField as FieldName } from './secret-errors.ts';
import { descriptionMax } from './secret-settings.tsx';

const nameMax = 63;
const fields: readonly FieldName[] = ['name', 'value', 'allowed_hosts', 'description'];

/** The form for storing a secret that no service uses yet. */
export function NewSecret(props: {
  secrets: readonly Secret[];
  onStored: (secret: Secret) => void;
  onCancel: () => void;
}) {
  const me = useMe();
  const queryClient = useQueryClient();
  const titleId = createUniqueId();
  const tierGroupId = createUniqueId();
  const [name, setName] = createSignal('');
  const [value, setValue] = createSignal('');
  const [isShown, setShown] = createSignal(false);
  const [hosts, setHosts] = createSignal('');
  const [description, setDescription] = createSignal('');
  const [tier, setTier] = createSignal<Tier>('user');
  let form: HTMLFormElement | undefined;
  const focusField = (selector: string) => form?.querySelector<HTMLElement>(selector)?.focus();

  /** A secret must not get an existing name, because it would replace a value that services use. */
  const isTaken = () => namesIn(props.secrets, tier()).includes(name().trim());
  const storing = useMutation(() => ({
    mutationFn: () =>
      storeSecret({
        name: name().trim(),
        value: value(),
        tier: tier(),
        allowed_hosts: parseHosts(hosts()),
        ...(description().trim() === '' ? {} : { description: description().trim() }),
      }),
    onSuccess: async (secret) => {
      setValue('');
      announce('The secret is stored');
      await queryClient.invalidateQueries();
      props.onStored(secret);
    },
  }));
  const errorOf = (field: FieldName) => errorOfField(storing.error, field, parseHosts(hosts()));
  createEffect(() => {
    if (storing.error !== null) focusField('[aria-invalid="true"]');
  });
  const nameError = () =>
    isTaken()
      ? 'There is a secret of this name. Choose another name, or enter a new value there.'
      : errorOf('name');
  const otherError = () =>
    storing.error !== null && !isSaidByField(storing.error, fields) ? storing.error : undefined;

  return (
    <form
      ref={(element) => (form = element)}
      class="mb-4 grid grid-cols-[minmax(0,1fr)] gap-5 rounded-2xl border border-line bg-surface p-4 shadow-sm sm:p-6"
      autocomplete="off"
      aria-labelledby={titleId}
      aria-busy={storing.isPending}
      onSubmit={(event) => {
        event.preventDefault();
        if (isTaken()) focusField('[aria-invalid="true"]');
        else if (!storing.isPending) storing.mutate();
      }}
    >
      <h2 id={titleId} class="text-lg font-semibold">
        A new secret
      </h2>
      <TextField
        label="Name"
        hint="Services and calls name the secret by it, so it never changes: small letters, digits, - and _."
        value={name()}
        onChange={setName}
        error={nameError()}
        maxLength={nameMax}
        hasFocus
        isRequired
        isMonospace
      />
      <SecretField
        label="Value"
        hint="It is stored encrypted and never shown again."
        value={value()}
        onChange={setValue}
        isShown={isShown()}
        onShow={setShown}
        showLabel="Show what is entered"
        maxLength={secretValueMax}
        error={errorOf('value')}
      />
      <HostsField
        hint={
          tier() === 'org'
            ? 'One host a line, at least one.'
            : 'One host a line. Without any, each host needs your permission when it is used.'
        }
        value={hosts()}
        onChange={setHosts}
        isRequired={tier() === 'org'}
        error={errorOf('allowed_hosts')}
      />
      <TextField
        label="Description"
        hint="For people: what it is, and where it comes from. May be left empty."
        value={description()}
        onChange={setDescription}
        maxLength={descriptionMax}
        error={errorOf('description')}
      />
      <Show when={me().role === 'admin'}>
        <fieldset class="grid gap-2 sm:grid-cols-2">
          <legend class="mb-2 font-semibold">For whom</legend>
          <RadioBox
            name={tierGroupId}
            isChecked={tier() === 'user'}
            onChoose={() => setTier('user')}
            label="For me"
            hint="You and your agents."
          />
          <RadioBox
            name={tierGroupId}
            isChecked={tier() === 'org'}
            onChoose={() => setTier('org')}
            label="For the organisation"
            hint="Everybody in it, and their agents."
          />
        </fieldset>
      </Show>
      <Show when={otherError()}>{(error) => <ErrorNotice error={error()} />}</Show>
      <div class="flex flex-wrap gap-2">
        <Button type="submit" look="primary" disabled={storing.isPending}>
          {storing.isPending ? 'Storing…' : 'Store it'}
        </Button>
        <Button onClick={() => props.onCancel()}>Cancel</Button>
      </div>
    </form>
  );
}
