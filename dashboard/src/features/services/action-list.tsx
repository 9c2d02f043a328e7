import { For, Show, createMemo, createSignal, createUniqueId } from 'solid-js';

import { Button } from '../../ui/button.tsx';
import { fieldLook } from '../../ui/field.tsx';
import { Icon } from '../../ui/icon.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { RiskBadge } from '../../features/approvals/risk-badge.tsx';
import { shortenSummary } from '../connect/connect-view.ts';
import { useMe } from '../session/session.tsx';
import { KeyedList } from '../../ui/keyed-list.tsx';
import { Panel } from './parts.tsx';
import { fieldsOf } from './params-view.ts';
import { levelOf } from './service-view.ts';
import type { ServiceAction, ServiceDetail } from './services.queries.ts';
import { TryIt } from './try-it.tsx';

const searchFrom = 6;
/** How many actions are shown at first, so that the parts below are not too far down. */
const shownFirst = 8;

/** The actions of a service with their risks and parameters. Each action can be tried. */
export function ActionList(props: { service: ServiceDetail }) {
  const [words, setWords] = createSignal('');
  const [isWhole, setWhole] = createSignal(false);
  const searchId = createUniqueId();
  const found = createMemo(() => filterActions(props.service.actions, words()));
  const shown = () => (isWhole() ? found() : found().slice(0, shownFirst));
  return (
    <Panel id="actions" title={`Actions (${props.service.actions.length})`}>
      <Show when={props.service.actions.length >= searchFrom}>
        <div>
          <label for={searchId} class="sr-only">
            Search the actions
          </label>
          <input
            id={searchId}
            type="search"
            class={fieldLook}
            placeholder="Search: name, or what it does"
            autocomplete="off"
            value={words()}
            onInput={(event) => setWords(event.currentTarget.value)}
          />
        </div>
      </Show>
      <Show when={found().length === 0}>
        <p class="text-ink-soft" role="status">
          {props.service.actions.length === 0
            ? 'It has no action that can be called.'
            : 'No action matches.'}
        </p>
      </Show>
      <ul class="grid grid-cols-[minmax(0,1fr)] divide-y divide-line">
        <KeyedList items={shown()} keyOf={({ action }) => action}>
          {(action) => <ActionRow service={props.service} action={action()} />}
        </KeyedList>
      </ul>
      <Show when={found().length > shownFirst}>
        <Button class="justify-self-start" onClick={() => setWhole((whole) => !whole)}>
          {isWhole() ? 'Show fewer' : `Show all ${found().length}`}
        </Button>
      </Show>
      <ActionsOff service={props.service} />
    </Panel>
  );
}

/** The actions of the template that cannot be called in this service, each with the reason. */
function ActionsOff(props: { service: ServiceDetail }) {
  const disabledActions = () => props.service.disabled_actions ?? [];
  return (
    <Show when={disabledActions().length > 0}>
      <details class="text-sm">
        <summary class="min-h-6 text-ink-soft">
          {disabledActions().length === 1
            ? 'One more action is off here'
            : `${disabledActions().length} more actions are off here`}
        </summary>
        <dl class="mt-2 grid gap-2">
          <For each={disabledActions()}>
            {({ action, reason }) => (
              <div>
                <dt class="font-mono font-semibold wrap-anywhere">
                  <VisibleText text={action} />
                </dt>
                <dd class="wrap-anywhere text-ink-soft">
                  <VisibleText text={reason} />
                </dd>
              </div>
            )}
          </For>
        </dl>
      </details>
    </Show>
  );
}

function ActionRow(props: { service: ServiceDetail; action: ServiceAction }) {
  const me = useMe();
  const [isOpen, setOpen] = createSignal(false);
  return (
    <li class="py-3">
      <details open={isOpen()} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary class="flex cursor-pointer flex-wrap items-center justify-between gap-x-3 gap-y-1 rounded-lg">
          <span class="min-w-0">
            <span class="block font-medium wrap-anywhere">
              <VisibleText text={shortenSummary(props.action.summary)} />
            </span>
            <code class="block font-mono text-sm wrap-anywhere text-ink-soft">
              <VisibleText text={props.action.action} />
            </code>
          </span>
          <span class="flex items-center gap-2 max-sm:grow max-sm:justify-between">
            <RiskBadge risk={levelOf(props.action.risk)} />
            <Icon
              name="chevron"
              class={`size-5 shrink-0 text-ink-soft transition-transform ${isOpen() ? 'rotate-180' : ''}`}
            />
          </span>
        </summary>
        <Show when={isOpen()}>
          <div class="mt-3 grid grid-cols-[minmax(0,1fr)] gap-4">
            <Parameters action={props.action} />
            <Show
              when={me().role !== 'auditor'}
              fallback={<p class="text-sm text-ink-soft">Auditors call nothing.</p>}
            >
              <Show
                when={props.service.status === 'ready'}
                fallback={
                  <p class="text-sm text-ink-soft">It can be tried once the service is ready.</p>
                }
              >
                <TryIt service={props.service} action={props.action} />
              </Show>
            </Show>
          </div>
        </Show>
      </details>
    </li>
  );
}

/** A list of the parameters with their descriptions. */
function Parameters(props: { action: ServiceAction }) {
  const fields = createMemo(() => fieldsOf(props.action.params_schema));
  return (
    <details class="text-sm">
      <summary class="min-h-6 text-ink-soft">
        {fields().length === 0
          ? 'Details: no parameters'
          : `Details: ${fields().length} ${fields().length === 1 ? 'parameter' : 'parameters'}`}
      </summary>
      <p class="mt-1 font-mono wrap-anywhere text-ink-soft">
        {props.action.method} <VisibleText text={props.action.path} />
      </p>
      <dl class="mt-2 grid gap-2">
        <For each={fields()}>
          {(field) => (
            <div>
              <dt class="font-mono font-semibold wrap-anywhere">
                <VisibleText text={field.name} />
                {field.isRequired ? <span class="font-sans font-normal"> (required)</span> : null}
              </dt>
              <dd class="wrap-anywhere text-ink-soft">
                <VisibleText text={field.description || 'No description.'} />
              </dd>
            </div>
          )}
        </For>
      </dl>
    </details>
  );
}

function filterActions(actions: readonly ServiceAction[], text: string): ServiceAction[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return actions.filter(({ action, summary, path }) => {
    const searchableText = `${action} ${summary} ${path}`.toLowerCase();
    return words.every((word) => searchableText.includes(word));
  });
}
