import { useMutation, useQuery } from '@tanstack/solid-query';
import { Show, createSignal } from 'solid-js';

import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { SecretField } from '../../ui/field.tsx';
import { HostList } from '../../ui/host-list.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { PartFields } from '../../ui/part-fields.tsx';
import { secretValueMax } from '../../ui/secret-parts.ts';
import { servicesQuery, storeSecret } from '../connect/connect.queries.ts';
import { hostsOfSecret } from '../connect/connect-view.ts';
import type { NeededSecret } from '../connect/connect-view.ts';
import { Loading } from '../services/parts.tsx';
import { partsOf } from '../services/service-view.ts';
import { findUser, neededSecretOf } from './credentials-view.ts';
import { templateOfServiceQuery } from './credentials.queries.ts';

interface EnterSecretProps {
  /** The reference of the secret: `github_token`, or `org/github_token` for a secret of the org. */
  reference: string;
  /**
   * The hosts of a secret that is not stored yet. Absent for a stored secret, which keeps its own
   * hosts.
   */
  hosts?: readonly string[];
  onStored: () => void;
  onCancel?: () => void;
}

/**
 * The form for entering the value of a secret. If the value has several parts, each part has its
 * own field. The value is never shown again anywhere.
 */
export function EnterSecret(props: EnterSecretProps) {
  const services = useQuery(() => servicesQuery());
  const user = () => findUser(services.data ?? [], props.reference);
  const template = useQuery(() => ({
    ...templateOfServiceQuery(user() ?? { template: '', template_tier: 'global' }),
    enabled: user() !== undefined,
  }));
  // The form is shown only when it is known whether the value has parts.
  const isKnown = () =>
    services.isError ||
    (services.data !== undefined && (user() === undefined || !template.isPending));
  const needed = () => {
    const service = user();
    if (service === undefined || template.data === undefined) return undefined;
    return neededSecretOf(service, template.data, props.reference);
  };
  return (
    <Show when={isKnown()} fallback={<Loading />}>
      <ValueForm {...props} needed={needed()} />
    </Show>
  );
}

function ValueForm(props: EnterSecretProps & { needed: NeededSecret | undefined }) {
  const [value, setValue] = createSignal('');
  const [isShown, setShown] = createSignal(false);
  const hosts = () =>
    props.hosts && props.needed ? hostsOfSecret(props.needed, props.hosts) : props.hosts;
  const storing = useMutation(() => ({
    mutationFn: () =>
      storeSecret({
        ...partsOf(props.reference),
        value: value(),
        ...(props.hosts === undefined ? {} : { allowed_hosts: [...(hosts() ?? [])] }),
      }),
    onSuccess: () => {
      setValue('');
      setShown(false);
      announce('The value is stored');
      props.onStored();
    },
  }));
  return (
    <form
      class="grid gap-3"
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        if (!storing.isPending) storing.mutate();
      }}
    >
      <Show
        when={props.needed?.parts}
        fallback={
          <SecretField
            label={<Label {...props} />}
            hint="It is stored encrypted and never shown again."
            value={value()}
            onChange={setValue}
            isShown={isShown()}
            onShow={setShown}
            showLabel="Show what is entered"
            maxLength={secretValueMax}
            hasFocus={props.onCancel !== undefined}
          />
        }
      >
        {(parts) => (
          <>
            <p class="font-semibold">
              <Label {...props} />
            </p>
            <PartFields
              parts={parts()}
              hint="It is stored encrypted and never shown again."
              value={value()}
              onChange={setValue}
              isShown={isShown()}
              onShow={setShown}
            />
          </>
        )}
      </Show>
      <Show when={hosts()}>
        {(shownHosts) => (
          <div>
            <p class="text-sm text-ink-soft">It may be sent only to</p>
            <HostList hosts={shownHosts()} />
          </div>
        )}
      </Show>
      <Show when={storing.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <div class="flex flex-wrap gap-2">
        <Button type="submit" look="primary" disabled={storing.isPending}>
          {storing.isPending ? 'Storing…' : 'Store it'}
        </Button>
        <Show when={props.onCancel}>
          {(cancel) => <Button onClick={() => cancel()()}>Cancel</Button>}
        </Show>
      </div>
    </form>
  );
}

function Label(props: EnterSecretProps) {
  return (
    <>
      {props.hosts === undefined ? 'New value of ' : 'The secret '}
      <code class="font-mono">{props.reference}</code>
    </>
  );
}
