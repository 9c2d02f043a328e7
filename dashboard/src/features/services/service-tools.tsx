import { useMutation, useQuery, useQueryClient } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createMemo, createSignal } from 'solid-js';

import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { Chip } from '../../ui/chip.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { RiskBadge } from '../../features/approvals/risk-badge.tsx';
import { definitionText, differingLines } from './difference-view.ts';
import { KeyedList } from '../../ui/keyed-list.tsx';
import { Loading, Panel } from './parts.tsx';
import { levelOf, serviceReferenceOf } from './service-view.ts';
import { acceptTool, discoverTools, toolQuery, toolsQuery } from './services.queries.ts';
import type { ServiceDetail, Tool, ToolDetail } from './services.queries.ts';

const statusWords = {
  available: 'In use',
  new: 'New',
  changed: 'Changed',
  gone: 'No longer offered',
  unusable: 'Cannot be used',
} as const;

/** The tools of an MCP server that a person has to check, with the differences to accept. */
export function ServiceTools(props: { service: ServiceDetail; mayChange: boolean }) {
  const queryClient = useQueryClient();
  const reference = () => serviceReferenceOf(props.service);
  const tools = useQuery(() => ({
    ...toolsQuery(reference()),
    enabled: props.service.tools !== undefined,
  }));
  const others = createMemo(() =>
    (tools.data ?? []).filter(({ status }) => status !== 'available').toSorted(byUrgency),
  );
  const discovering = useMutation(() => ({
    mutationFn: discoverTools,
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['services'] }),
  }));
  return (
    <Show when={props.service.tools}>
      {(state) => (
        <Panel id="tools" title="Tools of the server">
          <p class="text-sm text-ink-soft">
            A tool that is new or has changed is not called before{' '}
            {props.mayChange ? 'you have' : 'its owner has'} accepted it.{' '}
            <Show when={state().asked_at}>
              {(at) => (
                <>
                  The server was asked <TimeAgo at={at()} inSentence />.
                </>
              )}
            </Show>
          </p>
          <Show when={state().error}>
            {(code) => (
              <Notice tone="warning">
                The last time, the server did not list its tools (
                <code class="font-mono">{code()}</code>).
              </Notice>
            )}
          </Show>
          <Switch fallback={<Loading />}>
            <Match when={tools.data && others().length === 0}>
              <p>All its tools are accepted and unchanged.</p>
            </Match>
            <Match when={tools.data}>
              <ul class="grid grid-cols-[minmax(0,1fr)] gap-3">
                <KeyedList items={others()} keyOf={({ name }) => name}>
                  {(tool) => (
                    <ToolRow reference={reference()} tool={tool()} mayChange={props.mayChange} />
                  )}
                </KeyedList>
              </ul>
            </Match>
            <Match when={tools.error}>{(error) => <ErrorNotice error={error()} />}</Match>
          </Switch>
          <Show when={discovering.error}>{(error) => <ErrorNotice error={error()} />}</Show>
          <Show when={props.mayChange}>
            <Button
              class="justify-self-start"
              disabled={discovering.isPending}
              onClick={() => discovering.mutate(reference())}
            >
              {discovering.isPending ? 'Asking…' : 'Ask the server now'}
            </Button>
          </Show>
        </Panel>
      )}
    </Show>
  );
}

const urgency = ['changed', 'new', 'unusable', 'gone', 'available'];
const byUrgency = (one: Tool, other: Tool) =>
  urgency.indexOf(one.status) - urgency.indexOf(other.status);

function ToolRow(props: { reference: string; tool: Tool; mayChange: boolean }) {
  const [isOpen, setOpen] = createSignal(false);
  const isWaiting = () => props.tool.status === 'new' || props.tool.status === 'changed';
  return (
    <li class="grid grid-cols-[minmax(0,1fr)] gap-2 rounded-lg border border-line p-3">
      <div class="flex flex-wrap items-center gap-2">
        <span class="font-mono font-semibold wrap-anywhere">
          <VisibleText text={props.tool.name} />
        </span>
        <Chip>{statusWords[props.tool.status]}</Chip>
        <Show when={props.tool.risk}>{(risk) => <RiskBadge risk={levelOf(risk())} isShort />}</Show>
      </div>
      <Show when={props.tool.problem}>
        {(problem) => (
          <p class="text-sm">
            <VisibleText text={problem()} />
          </p>
        )}
      </Show>
      <Show when={isWaiting() && props.mayChange}>
        <Show
          when={isOpen()}
          fallback={
            <Button class="justify-self-start" onClick={() => setOpen(true)}>
              {props.tool.status === 'new' ? 'Look at it' : 'Look at the difference'}
              <span class="sr-only"> of {props.tool.name}</span>
            </Button>
          }
        >
          <ToolDifference reference={props.reference} tool={props.tool.name} />
        </Show>
      </Show>
    </li>
  );
}

function ToolDifference(props: { reference: string; tool: string }) {
  const detail = useQuery(() => toolQuery(props.reference, props.tool));
  return (
    <Switch fallback={<Loading />}>
      <Match when={detail.data}>
        {(data) => <AcceptTool reference={props.reference} detail={data()} />}
      </Match>
      <Match when={detail.error}>
        {(error) => <ErrorNotice error={error()} onRetry={() => void detail.refetch()} />}
      </Match>
    </Switch>
  );
}

function AcceptTool(props: { reference: string; detail: ToolDetail }) {
  const queryClient = useQueryClient();
  const parts = () =>
    props.detail.accepted === null
      ? Object.keys(props.detail.offered ?? {})
      : props.detail.differs_in;
  const accepting = useMutation(() => ({
    mutationFn: acceptTool,
    onSuccess: async () => {
      announce('Accepted');
      await queryClient.invalidateQueries({ queryKey: ['services'] });
    },
  }));
  return (
    <>
      <For each={parts()}>
        {(part) => (
          <div class="min-w-0">
            <h3 class="text-sm font-semibold text-ink-soft">
              <VisibleText text={part} />
            </h3>
            <PartDifference
              accepted={props.detail.accepted?.[part]}
              offered={props.detail.offered?.[part]}
              isNew={props.detail.accepted === null}
            />
          </div>
        )}
      </For>
      <p class="text-sm text-ink-soft">
        These are the words of the server. Agents read them once you accept them: look for orders to
        the agent that do not belong there.
      </p>
      <Show when={accepting.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <Show when={props.detail.hash}>
        {(hash) => (
          <Button
            look="primary"
            class="justify-self-start"
            disabled={accepting.isPending}
            onClick={() =>
              accepting.mutate({
                reference: props.reference,
                tool: props.detail.name,
                hash: hash(),
              })
            }
          >
            {accepting.isPending ? 'Accepting…' : 'Accept it as it is now'}
          </Button>
        )}
      </Show>
    </>
  );
}

const boxClasses = 'mt-1 rounded-lg bg-sunken p-3 font-mono text-sm';

function PartDifference(props: { accepted: unknown; offered: unknown; isNew: boolean }) {
  const textOf = (mark: '+' | '-') =>
    differingLines(definitionText(props.accepted), definitionText(props.offered))
      .filter((line) => line.mark === ' ' || line.mark === mark)
      .map(({ text }) => text)
      .join('\n');
  return (
    <Show
      when={!props.isNew}
      fallback={<LongText class={boxClasses} text={definitionText(props.offered)} />}
    >
      <p class="mt-1 text-sm font-medium">You accepted</p>
      <LongText class={boxClasses} text={textOf('-')} />
      <p class="mt-2 text-sm font-medium">The server says now</p>
      <LongText class={`${boxClasses} border-l-4 border-medium-band`} text={textOf('+')} />
    </Show>
  );
}
