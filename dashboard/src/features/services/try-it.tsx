import { useMutation, useQuery } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createMemo, createSignal, createUniqueId } from 'solid-js';
import { createStore } from 'solid-js/store';

import { Button } from '../../ui/button.tsx';
import { fieldLook } from '../../ui/field.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { Question } from '../../ui/question.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { useMe } from '../session/session.tsx';
import { CallResult } from './call-result.tsx';
import { DryRunResult } from './dry-run-result.tsx';
import { ParamFields } from './param-fields.tsx';
import { countOmitted, fieldsOf, toParams } from './params-view.ts';
import { serviceReferenceOf } from './service-view.ts';
import { agentsQuery, callAction, validateAction } from './services.queries.ts';
import type { ServiceAction, ServiceDetail } from './services.queries.ts';

/**
 * The form for trying one action. As the person, the call is made, after a second click if it
 * cannot be undone. As an agent, nothing is sent: the gateway only says what would happen.
 */
export function TryIt(props: { service: ServiceDetail; action: ServiceAction }) {
  const me = useMe();
  const agents = useQuery(() => agentsQuery());
  const whoId = createUniqueId();
  const [identityId, setIdentityId] = createSignal('');
  const [entered, setEntered] = createStore<Record<string, string | undefined>>({});
  const [problems, setProblems] = createSignal<Readonly<Record<string, string>>>({});
  const fields = createMemo(() => fieldsOf(props.action.params_schema));
  const choices = createMemo(() =>
    (agents.data ?? []).filter(({ kind, status }) => kind !== 'user' && status === 'active'),
  );
  const isMyself = () => identityId() === '';
  const needsQuestion = () => props.action.risk === 'delete';
  let form: HTMLFormElement | undefined;
  let runButton: HTMLButtonElement | undefined;

  const running = useMutation(() => ({ mutationFn: callAction }));
  /**
   * The dry run. It is made for an agent, and also for the person's own call, to describe the call
   * before the second click.
   */
  const dryRun = useMutation(() => ({ mutationFn: validateAction }));
  const isAsked = () => isMyself() && needsQuestion() && dryRun.data !== undefined;
  const forget = () => {
    running.reset();
    dryRun.reset();
  };

  const submit = () => {
    const read = toParams(fields(), entered);
    setProblems('problems' in read ? read.problems : {});
    if ('problems' in read) {
      form?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
      return;
    }
    forget();
    const call = {
      service: serviceReferenceOf(props.service),
      action: props.action.action,
      params: read.params,
    };
    if (!isMyself()) dryRun.mutate({ ...call, as_identity_id: identityId() });
    else if (needsQuestion()) dryRun.mutate(call);
    else running.mutate(call);
  };
  /** Makes exactly the call that the question described. */
  const confirm = () => {
    const described = dryRun.variables;
    if (described === undefined) return;
    const { service, action, params } = described;
    running.mutate(
      {
        ...(service === undefined ? {} : { service }),
        ...(action === undefined ? {} : { action }),
        ...(params === undefined ? {} : { params }),
      },
      { onSuccess: () => dryRun.reset() },
    );
  };

  return (
    <form
      ref={(element) => (form = element)}
      class="grid grid-cols-[minmax(0,1fr)] gap-4 rounded-lg bg-sunken p-3 sm:p-4"
      autocomplete="off"
      noValidate
      aria-label={`Try ${props.action.action}`}
      onSubmit={(event) => {
        event.preventDefault();
        if (!running.isPending && !dryRun.isPending && !isAsked()) submit();
      }}
    >
      <h3 class="font-semibold">Try it</h3>
      <fieldset disabled={isAsked()} class="grid grid-cols-[minmax(0,1fr)] gap-4">
        <legend class="sr-only">The call</legend>
        <Show when={fields().length > 0}>
          <ParamFields
            fields={fields()}
            entered={entered}
            problems={problems()}
            onEnter={(name, text) => setEntered(name, text)}
          />
        </Show>
        <Show when={countOmitted(props.action.params_schema) > 0}>
          <p class="text-sm text-ink-soft">
            {countOmitted(props.action.params_schema)} more parameters have no field here; give them
            over the API.
          </p>
        </Show>
        <div>
          <label for={whoId} class="font-semibold">
            As
          </label>
          <select
            id={whoId}
            class={`mt-1 ${fieldLook}`}
            value={identityId()}
            aria-describedby={`${whoId}-hint`}
            onChange={(event) => {
              setIdentityId(event.currentTarget.value);
              forget();
            }}
          >
            <option value="">myself ({me().name})</option>
            <For each={choices()}>
              {({ id, path }) => <option value={id}>{path.join(' › ')}</option>}
            </For>
          </select>
          <p id={`${whoId}-hint`} class="mt-1 text-sm text-ink-soft">
            {describeWhat(isMyself(), props.action.risk)}
          </p>
        </div>
      </fieldset>
      <Show when={dryRun.error ?? running.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <Show
        when={isAsked() && dryRun.data}
        fallback={
          <Button
            ref={(button) => (runButton = button)}
            type="submit"
            look={isMyself() && needsQuestion() ? 'danger' : 'primary'}
            class="justify-self-start"
            disabled={running.isPending || dryRun.isPending}
          >
            {labelOf(isMyself(), running.isPending || dryRun.isPending)}
          </Button>
        }
      >
        {(described) => (
          <Question
            question={
              <VisibleText text={`${described().action_description.replace(/[.?!]+$/, '')}?`} />
            }
            consequences="It runs at once, and the gateway cannot undo it."
            yes="Yes, run it"
            isBusy={running.isPending}
            error={null}
            onYes={confirm}
            onBack={() => {
              forget();
              runButton?.focus();
            }}
          />
        )}
      </Show>
      <div aria-live="polite" class="empty:hidden">
        <Switch>
          <Match when={isMyself() && running.data}>
            {(answer) => <CallResult service={props.service.title} answer={answer()} />}
          </Match>
          <Match when={!isMyself() && dryRun.data}>
            {(result) => (
              <DryRunResult
                result={result()}
                reference={serviceReferenceOf(props.service)}
                agents={agents.data ?? []}
              />
            )}
          </Match>
        </Switch>
      </div>
    </form>
  );
}

function describeWhat(isMyself: boolean, risk: ServiceAction['risk']): string {
  if (!isMyself) return 'Nothing is sent: the gateway says what would happen, and why.';
  if (risk === 'read') return 'It runs at once.';
  return risk === 'write'
    ? 'It runs at once, and really changes something.'
    : 'It really happens, after one more question.';
}

function labelOf(isMyself: boolean, isBusy: boolean): string {
  if (isMyself) return isBusy ? 'Running…' : 'Run it';
  return isBusy ? 'Asking…' : 'See what would happen';
}
