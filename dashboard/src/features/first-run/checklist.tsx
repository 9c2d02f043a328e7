import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/solid-query';
import {
  For,
  Match,
  Show,
  Switch,
  createEffect,
  createMemo,
  createSignal,
  createUniqueId,
} from 'solid-js';
import type { JSX } from 'solid-js';

import type { Identity } from '#contracts/http/identities';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { askAgainMs, clientsQuery, identitiesQuery, keysQuery } from '../agents/agents.queries.ts';
import { servicesQuery } from '../connect/connect.queries.ts';
import { useMe } from '../session/session.tsx';
import { findRealClient, firstAgentOf, nextStepOf, progressOf, stepNames } from './first-steps.ts';
import type { StepName } from './first-steps.ts';
import { changeProfile, profileQuery } from '../profile/profile.queries.ts';
import { anyApprovalQuery } from './first-run.queries.ts';
import { AgentStep, AskStep, ClientStep, DecideStep, ServiceStep } from './steps.tsx';

const titles: Readonly<Record<StepName, string>> = {
  agent: 'Add an agent',
  service: 'Connect a service',
  ask: 'Let the agent ask for something',
  decide: 'Decide',
  client: 'Connect your own client',
};

/**
 * The first steps of a person, from adding an agent to connecting a program of their own. The list
 * disappears when all steps are done, or when the person closes it.
 */
export function Checklist() {
  const me = useMe();
  const profile = useQuery(() => profileQuery());
  return (
    <Show when={profile.data?.checklist === 'open' && me().role !== 'auditor'}>
      <OpenChecklist />
    </Show>
  );
}

function OpenChecklist() {
  const me = useMe();
  const queryClient = useQueryClient();
  const titleId = createUniqueId();
  const identities = useInfiniteQuery(() => identitiesQuery());
  const agent = createMemo(() =>
    identities.data === undefined
      ? undefined
      : firstAgentOf(
          identities.data.pages.flatMap(({ items }) => items),
          me().id,
        ),
  );
  const services = useQuery(() => servicesQuery());
  const asked = useQuery(() => anyApprovalQuery('any'));
  const decided = useQuery(() => anyApprovalQuery('decided'));
  const agentQueryOptions = () => ({
    enabled: agent()?.id !== undefined,
    refetchInterval: askAgainMs / 4,
  });
  const agentKeys = useQuery(() => ({ ...keysQuery(agent()?.id ?? ''), ...agentQueryOptions() }));
  const clients = useQuery(() => ({ ...clientsQuery(agent()?.id ?? ''), ...agentQueryOptions() }));
  const realClient = () => {
    if (agent() === null) return null;
    if (agentKeys.data === undefined || clients.data === undefined) return undefined;
    return findRealClient(agentKeys.data.items, clients.data.items);
  };
  const progress = createMemo(() =>
    progressOf({
      agent: agent(),
      servicesCount: services.data?.length,
      approvalsCount: asked.data,
      decidedCount: decided.data,
      client: realClient(),
    }),
  );
  const closing = useMutation(() => ({
    mutationFn: () => changeProfile({ checklist: 'dismissed' }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: profileQuery().queryKey }),
  }));
  const doneCount = (done: Readonly<Record<StepName, boolean>>) =>
    stepNames.filter((name) => done[name]).length;

  // Whether a step was still open on this page. Only then is the finished list shown: a person who
  // did everything long ago does not see it.
  const [wasUnfinished, setWasUnfinished] = createSignal(false);
  createEffect(() => {
    const done = progress();
    if (done !== undefined && nextStepOf(done) !== undefined) setWasUnfinished(true);
  });

  return (
    <Show when={wasUnfinished() && progress()}>
      {(done) => (
        <section
          aria-labelledby={titleId}
          class="rounded-2xl border border-line bg-surface px-4 py-4 sm:px-6 sm:py-5"
        >
          <div class="mb-1 flex items-start justify-between gap-3">
            <h2 id={titleId} class="text-lg font-semibold">
              First steps
            </h2>
            <Button
              look="quiet"
              class="-my-2"
              disabled={closing.isPending}
              onClick={() => closing.mutate()}
            >
              Close
            </Button>
          </div>
          <p class="mb-3 text-sm text-ink-soft">
            {doneCount(done())} of {stepNames.length} done
          </p>
          <Show when={closing.error}>{(error) => <ErrorNotice error={error()} />}</Show>
          <ol class="grid gap-1">
            <For each={stepNames}>
              {(name, index) => (
                <Step
                  number={index() + 1}
                  title={titles[name]}
                  isDone={done()[name]}
                  isNext={nextStepOf(done()) === name}
                >
                  <StepBody name={name} agent={agent() ?? null} />
                </Step>
              )}
            </For>
          </ol>
          <Show when={realClient()}>
            {(client) => (
              <p class="mt-2 font-medium text-accent" role="status">
                <VisibleText text={client().name} /> made its first request{' '}
                <TimeAgo at={client().at} inSentence />.
              </p>
            )}
          </Show>
        </section>
      )}
    </Show>
  );
}

function StepBody(props: { name: StepName; agent: Identity | null }) {
  return (
    <Switch>
      <Match when={props.name === 'agent'}>
        <AgentStep />
      </Match>
      <Match when={props.name === 'service'}>
        <ServiceStep />
      </Match>
      <Match when={props.name === 'ask' && props.agent}>
        {(agent) => <AskStep agent={agent()} />}
      </Match>
      <Match when={props.name === 'decide'}>
        <DecideStep />
      </Match>
      <Match when={props.name === 'client' && props.agent}>
        {(agent) => <ClientStep agent={agent()} />}
      </Match>
    </Switch>
  );
}

function Step(props: {
  number: number;
  title: string;
  isDone: boolean;
  isNext: boolean;
  children: JSX.Element;
}) {
  return (
    <li class="flex gap-3 py-2" aria-current={props.isNext ? 'step' : undefined}>
      <span
        class="grid size-7 shrink-0 place-items-center rounded-full text-sm font-semibold"
        classList={{
          'bg-accent text-on-accent': props.isDone,
          'bg-accent-soft text-accent': !props.isDone && props.isNext,
          'bg-sunken text-ink-soft': !props.isDone && !props.isNext,
        }}
        aria-hidden="true"
      >
        <Show when={props.isDone} fallback={props.number}>
          <Icon name="check" class="size-4" />
        </Show>
      </span>
      <div class="min-w-0 grow pt-0.5">
        <h3
          class="leading-snug"
          classList={{ 'font-semibold': props.isNext, 'text-ink-soft': !props.isNext }}
        >
          {props.title}
          <span class="sr-only">{props.isDone ? ', done' : ''}</span>
        </h3>
        <Show when={props.isNext}>
          <div class="mt-2">{props.children}</div>
        </Show>
      </div>
    </li>
  );
}
