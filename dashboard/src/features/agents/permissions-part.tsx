import { A } from '@solidjs/router';
import { useMutation, useQuery } from '@tanstack/solid-query';
import { For, Show } from 'solid-js';

import type { Identity } from '#contracts/http/identities';
import type { Rule } from '#contracts/http/rules';
import { announce } from '../../ui/announcer.tsx';
import { Icon } from '../../ui/icon.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ActAfterQuestion } from '../../ui/question.tsx';
import { Countdown, TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { useMe } from '../session/session.tsx';
import { deleteRule, rulesQuery } from './agents.queries.ts';
import { Loaded } from '../../ui/loaded.tsx';
import { Nothing } from '../../ui/nothing.tsx';
import { makerOf, permissionsOf } from './permission-view.ts';
import type { Permission } from './permission-view.ts';
import { useRefreshAgents } from './use-standing.ts';

/**
 * The rules that allow calls of the agent, and the rules that deny calls even after an approval.
 */
export function PermissionsPart(props: { chain: readonly Identity[]; canChange: boolean }) {
  const rules = useQuery(() => rulesQuery(props.chain));
  return (
    <Panel title="Permissions">
      <Loaded query={rules}>
        {(reaching) => {
          const permissions = () => permissionsOf(props.chain, reaching().rules);
          return (
            <>
              <Show
                when={permissions().allows.length > 0}
                fallback={<Nothing>Nothing is allowed in advance: every write asks first.</Nothing>}
              >
                <PermissionList
                  label="Allowed without asking"
                  items={permissions().allows}
                  makers={reaching().makers}
                  canChange={props.canChange}
                />
              </Show>
              <p class="mt-3 text-sm text-ink-soft">
                Reads are not listed: they run without asking on each{' '}
                <A class="underline" href="/services">
                  service
                </A>{' '}
                that says <q>Reads run at once</q>.
              </p>
              <Show when={permissions().denies.length > 0}>
                <h3 class="mt-5 mb-2 text-sm font-semibold text-ink-soft">
                  Always refused, and nobody is asked
                </h3>
                <PermissionList
                  label="Always refused"
                  items={permissions().denies}
                  makers={reaching().makers}
                  canChange={props.canChange}
                />
              </Show>
            </>
          );
        }}
      </Loaded>
    </Panel>
  );
}

interface ItemProps {
  readonly makers: Readonly<Record<string, string>>;
  readonly canChange: boolean;
}

function PermissionList(props: ItemProps & { label: string; items: readonly Permission[] }) {
  const permissionOf = (id: string) => props.items.find(({ rule }) => rule.id === id);
  return (
    <ul class="divide-y divide-line" aria-label={props.label}>
      <For each={props.items.map(({ rule }) => rule.id)}>
        {(id) => (
          <Show when={permissionOf(id)}>
            {(permission) => (
              <li class="py-3 first:pt-0 last:pb-0">
                <PermissionItem
                  permission={permission()}
                  makers={props.makers}
                  canChange={props.canChange}
                />
              </li>
            )}
          </Show>
        )}
      </For>
    </ul>
  );
}

function PermissionItem(props: ItemProps & { permission: Permission }) {
  const me = useMe();
  const rule = () => props.permission.rule;
  const isDeny = () => rule().effect === 'deny';
  const words = () => rule().description ?? rule().pattern;
  const canDelete = () =>
    props.canChange && (props.permission.place !== 'org' || me().role === 'admin');

  return (
    <div class="grid gap-2">
      <div class="flex items-start gap-2">
        <Icon
          name={isDeny() ? 'cross' : 'check'}
          class={`mt-0.5 size-5 shrink-0 ${isDeny() ? 'text-high' : 'text-accent'}`}
        />
        <LongText class="min-w-0 font-medium wrap-anywhere" text={words()} charactersMax={300} />
      </div>
      <p class="text-sm text-ink-soft">
        <RuleOrigin rule={rule()} maker={makerOf(rule(), props.makers, me())} />
        <RulePlace permission={props.permission} />
        <Show when={!isDeny()}>
          {' · '}
          <Show when={rule().used} fallback="not used yet">
            {(used) => (
              <>
                used {used().count === 1 ? 'once' : `${used().count} times`}, last{' '}
                <TimeAgo at={used().last_at} />
              </>
            )}
          </Show>
        </Show>
        <Show when={rule().expires_at}>
          {(at) => (
            <>
              {' · '}
              <Countdown endsAt={at()} textAfter="left" />
            </>
          )}
        </Show>
      </p>
      <Show when={rule().review}>
        {(review) => (
          <p class="text-sm text-medium">
            <VisibleText text={review()} />
          </p>
        )}
      </Show>
      <details class="text-sm">
        <summary class="w-fit rounded py-1 text-ink-soft hover:text-ink">Details</summary>
        <Details rule={rule()} />
      </details>
      <Show when={canDelete()}>
        <StopAllowing permission={props.permission} words={words()} />
      </Show>
    </div>
  );
}

function RuleOrigin(props: { rule: Rule; maker: string }) {
  const verb = () => (props.rule.effect === 'deny' ? 'refused' : 'allowed');
  return (
    <>
      <Show
        when={props.rule.via !== 'self'}
        fallback={<>It {verb()} this by itself, for your client</>}
      >
        <VisibleText text={props.maker} /> {verb()} this
      </Show>{' '}
      <Show when={props.rule.approval_id} fallback={<TimeAgo at={props.rule.created_at} />}>
        {(approvalId) => (
          <A class="underline" href={`/approvals/${approvalId()}`}>
            on an approval <TimeAgo at={props.rule.created_at} inSentence />
          </A>
        )}
      </Show>
    </>
  );
}

function RulePlace(props: { permission: Permission }) {
  return (
    <Show when={props.permission.place !== 'own'}>
      {' · '}
      <span class="font-medium text-ink">
        <Show
          when={props.permission.place === 'above' && props.permission.holderName}
          fallback="for the whole organisation"
        >
          {(name) => (
            <>
              inherited from <VisibleText text={name()} />
            </>
          )}
        </Show>
      </span>
    </Show>
  );
}

function Details(props: { rule: Rule }) {
  return (
    <dl class="mt-1 grid gap-x-4 gap-y-1 sm:grid-cols-[6rem_minmax(0,1fr)]">
      <dt class="text-ink-soft">Pattern</dt>
      <dd>
        <LongText class="font-mono wrap-anywhere" text={props.rule.pattern} />
        {props.rule.exact ? 'This call alone.' : ''}
      </dd>
      <Show when={props.rule.risk_at_least}>
        {(risk) => (
          <>
            <dt class="text-ink-soft">Only for</dt>
            <dd>calls of the risk {risk()} or above</dd>
          </>
        )}
      </Show>
      <dt class="text-ink-soft">Made</dt>
      <dd>{new Date(props.rule.created_at).toLocaleString()}</dd>
      <Show when={props.rule.expires_at}>
        {(at) => (
          <>
            <dt class="text-ink-soft">Ends</dt>
            <dd>{new Date(at()).toLocaleString()}</dd>
          </>
        )}
      </Show>
    </dl>
  );
}

function StopAllowing(props: { permission: Permission; words: string }) {
  const refresh = useRefreshAgents();
  const isDeny = () => props.permission.rule.effect === 'deny';
  const stopping = useMutation(() => ({
    mutationFn: deleteRule,
    onSuccess: () => announce(isDeny() ? 'No longer refused' : 'No longer allowed'),
    onSettled: refresh,
  }));
  const label = () => (isDeny() ? 'Stop refusing' : 'Stop allowing');
  const scopeNote = () => {
    if (props.permission.place === 'org') return ' This holds for every agent of the organisation.';
    const { holderName } = props.permission;
    return props.permission.place === 'above' && holderName !== null
      ? ` This holds for everything below ${holderName}.`
      : '';
  };
  return (
    <ActAfterQuestion
      label={label()}
      accessibleLabel={`${label()}: ${props.words}`}
      buttonClass="justify-self-start"
      question={
        <>
          {label()}: <VisibleText text={props.words.replace(/\.$/, '')} />?
        </>
      }
      consequences={
        isDeny()
          ? `Such calls are then allowed or asked about like all others.${scopeNote()}`
          : `From now on such calls ask first. What ran already stays done.${scopeNote()}`
      }
      yes={isDeny() ? 'Yes, stop refusing' : 'Yes, stop allowing'}
      isBusy={stopping.isPending}
      error={stopping.error}
      onYes={() => stopping.mutate({ id: props.permission.rule.id })}
    />
  );
}
