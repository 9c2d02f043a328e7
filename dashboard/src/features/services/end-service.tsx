import { useMutation, useQuery, useQueryClient } from '@tanstack/solid-query';
import { For, Match, Show, Switch } from 'solid-js';

import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { ActAfterQuestion } from '../../ui/question.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { openApprovalsQuery } from '../../features/approvals/approvals.queries.ts';
import { rulesOnNameQuery } from '../connect/connect.queries.ts';
import { Panel } from './parts.tsx';
import { PermissionLine } from './permission-line.tsx';
import { serviceReferenceOf } from './service-view.ts';
import { disconnectService, updateService } from './services.queries.ts';
import type { ServiceDetail } from './services.queries.ts';

/** The buttons to switch the service off, which keeps everything, and to disconnect it. */
export function EndService(props: { service: ServiceDetail; onEnded: () => void }) {
  const queryClient = useQueryClient();
  const reference = () => serviceReferenceOf(props.service);
  const isOff = () => props.service.status === 'disabled';

  const switching = useMutation(() => ({
    mutationFn: updateService,
    onSuccess: async (service) => {
      announce(service.status === 'disabled' ? 'Switched off' : 'Switched on');
      await queryClient.invalidateQueries({ queryKey: ['services'] });
    },
  }));
  const disconnecting = useMutation(() => ({
    mutationFn: disconnectService,
    onSuccess: async () => {
      announce('Disconnected');
      props.onEnded();
      await queryClient.invalidateQueries();
    },
  }));
  const staysOff = () =>
    switching.data?.status === 'disabled' && !switching.variables?.body.disabled;

  return (
    <Panel title="Stop using it">
      <p class="text-sm text-ink-soft">
        Switching it off keeps everything, and you can switch it on again. Disconnecting removes it.
      </p>
      <Show when={staysOff()}>
        <p class="font-medium text-medium" role="status">
          It stays off, because its entry in the catalogue is switched off.
        </p>
      </Show>
      <Show when={switching.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <div class="flex flex-wrap gap-2">
        <Button
          disabled={switching.isPending}
          onClick={() => switching.mutate({ reference: reference(), body: { disabled: !isOff() } })}
        >
          {isOff() ? 'Switch it on' : 'Switch it off'}
        </Button>
        <ActAfterQuestion
          label="Disconnect…"
          buttonClass="text-high!"
          question={
            <>
              Disconnect <VisibleText text={props.service.title} /> ({reference()})?
            </>
          }
          consequences={<DisconnectConsequences service={props.service} />}
          yes="Yes, disconnect"
          isBusy={disconnecting.isPending}
          error={disconnecting.error}
          onYes={() => disconnecting.mutate(reference())}
        />
      </div>
    </Panel>
  );
}

const shownMax = 5;

function DisconnectConsequences(props: { service: ServiceDetail }) {
  const reference = () => serviceReferenceOf(props.service);
  const rules = useQuery(() => rulesOnNameQuery(reference()));
  const approvals = useQuery(() => openApprovalsQuery());
  const countedActions = () =>
    props.service.actions_count === 1 ? 'one action' : `${props.service.actions_count} actions`;
  const waiting = () =>
    (approvals.data?.items ?? []).filter(({ service }) => service === reference()).length;
  return (
    <>
      <ul class="grid list-disc gap-1 pl-5">
        <li>
          {props.service.tier === 'org'
            ? 'Nobody in the organisation'
            : 'Neither you nor your agents'}{' '}
          can call its {countedActions()} any more.
        </li>
        <Show when={waiting() > 0}>
          <li>
            {waiting() === 1 ? 'One call that waits' : `${waiting()} calls that wait`} for a
            decision cannot run any more.
          </li>
        </Show>
        <Switch fallback={<li>Which permissions name it is being looked up…</li>}>
          <Match when={rules.error}>
            <li>Which permissions name it could not be looked up.</li>
          </Match>
          <Match when={rules.data?.length === 0}>
            <li>No permission that you can see names it.</li>
          </Match>
          <Match when={rules.data}>
            {(found) => (
              <li>
                {found().length === 1
                  ? 'One permission names'
                  : `${found().length} permissions name`}{' '}
                it and will allow nothing:
                <ul class="mt-1">
                  <For each={found().slice(0, shownMax)}>
                    {(rule) => (
                      <li class="mt-1">
                        <PermissionLine rule={rule} />
                      </li>
                    )}
                  </For>
                </ul>
                <Show when={found().length > shownMax}>and {found().length - shownMax} more.</Show>
              </li>
            )}
          </Match>
        </Switch>
      </ul>
      <p class="mt-2">
        Its secrets and accounts stay stored; delete them under Credentials. What was done with it
        stays done.
      </p>
    </>
  );
}
