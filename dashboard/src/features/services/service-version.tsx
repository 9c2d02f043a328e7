import { useQuery } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createSignal } from 'solid-js';

import { Button } from '../../ui/button.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { hasDraft } from '../connect/draft.ts';
import { templateVersionQuery } from '../credentials/credentials.queries.ts';
import { describeDifference } from './difference-view.ts';
import type { DifferenceLine } from './difference-view.ts';
import { Loading, Panel } from './parts.tsx';
import { PermissionLine } from './permission-line.tsx';
import { serviceReferenceOf } from './service-view.ts';
import { upgradeQuery } from './services.queries.ts';
import type { ServiceDetail, Upgrade } from './services.queries.ts';
import { TakeVersion } from './take-version.tsx';

/**
 * Shows what a newer version of the template would change, and lets the person upgrade the service.
 */
export function ServiceVersion(props: { service: ServiceDetail; mayChange: boolean }) {
  // Open if the person comes back from a provider, so that they can continue there.
  const [isOpen, setOpen] = createSignal(hasDraft(location.pathname + location.search));
  const newest = () =>
    props.service.newest_version === props.service.template_version
      ? null
      : props.service.newest_version;
  return (
    <Show when={newest()} keyed>
      {(version) => (
        <Panel id="version" title="There is a newer version">
          <p class="text-ink-soft">
            It stays at version {props.service.template_version} until{' '}
            {props.mayChange ? 'you take' : 'its owner takes'} version {version}.
          </p>
          <Show when={props.mayChange}>
            <Show
              when={isOpen()}
              fallback={
                <Button class="justify-self-start" onClick={() => setOpen(true)}>
                  See what it changes
                </Button>
              }
            >
              <Difference service={props.service} version={version} />
            </Show>
          </Show>
        </Panel>
      )}
    </Show>
  );
}

function Difference(props: { service: ServiceDetail; version: number }) {
  const upgrade = useQuery(() => upgradeQuery(serviceReferenceOf(props.service), props.version));
  const template = useQuery(() => templateVersionQuery(props.service, props.version));
  const failure = () => upgrade.error ?? template.error;
  const retry = () => {
    for (const query of [upgrade, template]) if (query.isError) void query.refetch();
  };
  return (
    <Switch fallback={<Loading />}>
      <Match when={upgrade.data !== undefined && template.data !== undefined && upgrade.data}>
        {(data) => (
          <>
            <WhatChanges upgrade={data()} />
            <Show when={template.data}>
              {(version) => (
                <TakeVersion service={props.service} upgrade={data()} template={version()} />
              )}
            </Show>
          </>
        )}
      </Match>
      <Match when={failure()}>{(error) => <ErrorNotice error={error()} onRetry={retry} />}</Match>
    </Switch>
  );
}

const marks = { added: '+', removed: '−', changed: '±' } as const;
const changeWords = { added: 'New: ', removed: 'Gone: ', changed: 'Changed: ' } as const;
const shownFirst = 12;

function WhatChanges(props: { upgrade: Upgrade }) {
  const lines = () => describeDifference(props.upgrade.difference);
  const stoppedRules = () => props.upgrade.rules_that_stop ?? [];
  return (
    <>
      <Show
        when={lines().length > 0}
        fallback={<p>Nothing that matters to calls differs; only words do.</p>}
      >
        <ul class="grid gap-1">
          <For each={lines().slice(0, shownFirst)}>{(each) => <Line line={each} />}</For>
        </ul>
        <Show when={lines().length > shownFirst}>
          <details>
            <summary class="min-h-6 font-medium">{lines().length - shownFirst} more</summary>
            <ul class="mt-2 grid gap-1">
              <For each={lines().slice(shownFirst)}>{(each) => <Line line={each} />}</For>
            </ul>
          </details>
        </Show>
      </Show>
      <Show when={props.upgrade.rules_that_stop === undefined}>
        <Notice tone="warning">Which permissions stop could not be looked up.</Notice>
      </Show>
      <Show when={stoppedRules().length > 0}>
        <Notice tone="warning">
          <p>
            {stoppedRules().length === 1
              ? 'One permission allows nothing any more'
              : `${stoppedRules().length} permissions allow nothing any more`}
            ; what they allowed asks again:
          </p>
          <ul class="mt-1">
            <For each={stoppedRules()}>
              {(rule) => (
                <li class="mt-1">
                  <PermissionLine rule={rule} />
                </li>
              )}
            </For>
          </ul>
        </Notice>
      </Show>
    </>
  );
}

function Line(props: { line: DifferenceLine }) {
  return (
    <li class="flex gap-2 wrap-anywhere">
      <span
        aria-hidden="true"
        class="w-4 shrink-0 text-center font-mono font-semibold"
        classList={{
          'text-accent': props.line.tone === 'added',
          'text-high': props.line.tone === 'removed',
          'text-medium': props.line.tone === 'changed',
        }}
      >
        {marks[props.line.tone]}
      </span>
      <span class="min-w-0">
        <span class="sr-only">{changeWords[props.line.tone]}</span>
        <VisibleText text={props.line.text} />
      </span>
    </li>
  );
}
