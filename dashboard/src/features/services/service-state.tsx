import { A } from '@solidjs/router';
import { useMutation, useQuery, useQueryClient } from '@tanstack/solid-query';
import { For, Match, Show, Switch } from 'solid-js';

import type { ConnectedService, MissingCredential } from '#contracts/http/services';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { connectionsQuery } from '../connect/connect.queries.ts';
import { goToProvider } from '../credentials/credentials.queries.ts';
import { EnterSecret } from '../credentials/enter-secret.tsx';
import { Panel } from './parts.tsx';
import { findConnection, fixesOf, partsOf, pathOf } from './service-view.ts';

/**
 * Shows what the service lacks. For each problem there is a form, or a link to the page where it is
 * fixed.
 */
export function WhatIsMissing(props: { service: ConnectedService; mayChange: boolean }) {
  /**
   * Problems that are fixed on other pages. Missing credentials and changed tools have parts of
   * their own on this page.
   */
  const otherFixes = () => fixesOf(props.service).filter(({ href }) => !href.includes('#'));
  const missing = () => props.service.missing ?? [];
  return (
    <Show when={missing().length + otherFixes().length > 0}>
      <Panel id="missing" title={missing().length > 0 ? 'What is missing' : 'What to look at'}>
        <Show
          when={props.mayChange}
          fallback={
            <Notice tone="warning">
              <For each={fixesOf(props.service)}>
                {(fix) => (
                  <p>
                    <VisibleText text={fix.sentence} />
                  </p>
                )}
              </For>
              <p class="mt-1 text-sm">
                {props.service.tier === 'org' ? 'An admin' : 'Its owner'} can fix this.
              </p>
            </Notice>
          }
        >
          <For each={missing()}>
            {(credential) => <FixMissing service={props.service} credential={credential} />}
          </For>
          <For each={otherFixes()}>
            {(fix) => (
              <Notice tone="warning">
                <VisibleText text={fix.sentence} />{' '}
                <A
                  href={fix.href}
                  class="inline-flex min-h-6 items-center font-semibold underline underline-offset-4"
                >
                  {fix.linkLabel}
                </A>
              </Notice>
            )}
          </For>
        </Show>
      </Panel>
    </Show>
  );
}

function FixMissing(props: { service: ConnectedService; credential: MissingCredential }) {
  const queryClient = useQueryClient();
  return (
    <Show
      when={props.credential.kind === 'secret'}
      fallback={<ConnectAccount service={props.service} credential={props.credential} />}
    >
      <EnterSecret
        reference={props.credential.name}
        hosts={props.service.hosts}
        onStored={() => void queryClient.invalidateQueries()}
      />
    </Show>
  );
}

/**
 * Sends the browser to the provider, where the person confirms the access. Then it comes back to
 * this page.
 */
function ConnectAccount(props: { service: ConnectedService; credential: MissingCredential }) {
  const connections = useQuery(() => connectionsQuery());
  const known = () => findConnection(connections.data ?? [], props.credential.name);
  const parts = () => partsOf(props.credential.name);
  const goingToProvider = useMutation(() => ({
    mutationFn: () => {
      const connection = known();
      return goToProvider(
        connection === undefined
          ? { template: props.service.template, ...parts() }
          : { connection: connection.id },
        pathOf(props.service),
      );
    },
  }));
  return (
    <div class="grid gap-3">
      <Notice tone="warning">
        <Switch>
          <Match when={props.credential.status === 'needs_reauth'}>
            The access to the account <VisibleText text={props.credential.name} /> has ended. Sign
            in there again, with the same account.
          </Match>
          <Match when={true}>
            The account <VisibleText text={props.credential.name} /> is not connected.
          </Match>
        </Switch>
      </Notice>
      <Show when={goingToProvider.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <Button
        look="primary"
        class="justify-self-start"
        disabled={connections.isPending || goingToProvider.isPending || goingToProvider.isSuccess}
        onClick={() => goingToProvider.mutate()}
      >
        {props.credential.status === 'needs_reauth' ? 'Connect it again' : 'Connect the account'}
      </Button>
    </div>
  );
}
