import { useQueryClient } from '@tanstack/solid-query';
import { Match, Show, Switch, createMemo } from 'solid-js';

import type { TemplateDetail } from '#contracts/http/templates';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { waysOf } from '../connect/connect-view.ts';
import type { FormProps } from '../connect/form-props.ts';
import { heldBy } from '../connect/held.ts';
import { useConnect } from '../connect/use-connect.ts';
import { useOwned } from '../connect/use-owned.ts';
import { WayFields } from '../connect/way-fields.tsx';
import { Loading } from './parts.tsx';
import type { ServiceDetail, Upgrade } from './services.queries.ts';

interface TakeVersionProps {
  service: ServiceDetail;
  upgrade: Upgrade;
  template: TemplateDetail;
}

/**
 * Upgrades the service to the version. First the form asks for what the version needs and the
 * service lacks.
 */
export function TakeVersion(props: TakeVersionProps) {
  const owned = useOwned(props);
  const queryClient = useQueryClient();
  const held = createMemo(() =>
    heldBy(props.service, {
      ways: waysOf(props.template),
      changedSchemes: props.upgrade.difference.auth.changed,
      connections: owned.data().connections,
    }),
  );
  const finish = async () => {
    announce('The new version is in use');
    await queryClient.invalidateQueries();
  };
  return (
    <Switch fallback={<Loading />}>
      <Match when={owned.isLoaded()}>
        <Form
          template={props.template}
          upgrade={{
            service: props.service,
            held: held(),
            difference: props.upgrade.difference,
          }}
          {...owned.data()}
          services={[]}
          rules={[]}
          onConnected={() => void finish()}
          onChanged={() => void finish()}
        />
      </Match>
      <Match when={owned.failure()}>
        {(error) => <ErrorNotice error={error()} onRetry={owned.retry} />}
      </Match>
    </Switch>
  );
}

function Form(props: FormProps) {
  const form = useConnect(props);
  return (
    <form
      class="grid grid-cols-[minmax(0,1fr)] gap-5"
      autocomplete="off"
      aria-label={`Take version ${props.template.version}`}
      aria-busy={form.isBusy()}
      onSubmit={(event) => {
        event.preventDefault();
        if (!form.isBusy() && !form.lacksApp()) form.connecting.mutate();
      }}
    >
      <Show when={form.isAsking()}>
        <p>This version needs something that the service does not have yet.</p>
      </Show>
      <Show when={form.isBackInVain()}>
        <Notice tone="warning" role="status">
          No account was connected: {form.providerTitle()} did not say yes. You can try again, or
          choose another account or way.
        </Notice>
      </Show>
      <Show when={form.isAsking()}>
        <WayFields form={form} app={props.app} reason={null} />
      </Show>
      <Show when={form.newHosts().length > 0}>
        <Notice tone="warning">
          Its credentials may then be sent to <VisibleText text={form.newHosts().join(', ')} /> too.
        </Notice>
      </Show>
      <Show when={form.connecting.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <Show when={!form.lacksApp()}>
        <Button type="submit" look="primary" class="justify-self-start" disabled={form.isBusy()}>
          {form.isBusy()
            ? form.leaves()
              ? `Going to ${form.providerTitle()}…`
              : 'Upgrading…'
            : form.leaves()
              ? `Continue to ${form.providerTitle()}`
              : `Take version ${props.template.version}`}
        </Button>
      </Show>
    </form>
  );
}
