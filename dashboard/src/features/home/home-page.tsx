import { A } from '@solidjs/router';
import { useQueries, useQuery } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createMemo } from 'solid-js';
import type { JSX } from 'solid-js';

import type { AuditRecord } from '#contracts/audit';
import { usePollEveryMs } from '../../api/live.tsx';
import { serverNowMs } from '../../api/server-clock.ts';
import { Spinner } from '../../ui/icon.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { useTitle } from '../../ui/title.ts';
import { latestRecordsQuery } from '../activity/activity.queries.ts';
import { lastCallsOf, presentCall } from '../activity/calls-view.ts';
import { sortIntoQueue } from '../approvals/approval-view.ts';
import { openApprovalsQuery } from '../approvals/approvals.queries.ts';
import { connectionsQuery, secretsQuery, servicesQuery } from '../connect/connect.queries.ts';
import { openRequestsQuery, requestedTemplateQuery } from '../connect/requests.queries.ts';
import { Checklist } from '../first-run/checklist.tsx';
import { useMe } from '../session/session.tsx';
import { CallList, OutcomeCounts } from './activity.tsx';
import { HomeSection, Rows } from './home-section.tsx';
import { missingAppsOf, orgRequestsOf, sinceOf, waitingItemsOf } from './home-view.ts';
import { deniedRecordsQuery, oauthAppsQuery, usageSinceQuery, visitQuery } from './home.queries.ts';
import { AllWell, ChainState, Troubles } from './installation.tsx';
import { fixesOf } from './fix-view.ts';
import { FixList } from './fixes.tsx';
import { RequestRow, WaitingList } from './waiting.tsx';

/**
 * The home page: what waits for the person, what to fix, and what happened since the last visit.
 */
export function HomePage() {
  const me = useMe();
  return (
    <Show when={me().role === 'auditor'} fallback={<HomeOfOwner />}>
      <HomeOfAuditor />
    </Show>
  );
}

function HomeOfOwner() {
  const me = useMe();
  const pollEveryMs = usePollEveryMs();
  const approvals = useQuery(() => ({ ...openApprovalsQuery(), refetchInterval: pollEveryMs() }));
  const requests = useQuery(() => ({ ...openRequestsQuery(), refetchInterval: pollEveryMs() }));
  const waiting = createMemo(() =>
    waitingItemsOf(approvals.data?.items ?? [], requests.data ?? [], me()),
  );
  const othersCount = () => sortIntoQueue(approvals.data?.items ?? [], me().id).others.length;
  const orgRequests = createMemo(() => orgRequestsOf(requests.data ?? [], me()));
  const openCount = () => waiting().length + orgRequests().length;
  useTitle(() => (openCount() > 0 ? `(${openCount()}) Home` : 'Home'));

  return (
    <HomeFrame
      left={
        <>
          <Show when={me().role === 'admin'}>
            <Troubles />
          </Show>
          <Checklist />
          <HomeSection title="Waiting for you">
            <Switch>
              <Match when={approvals.isPending || requests.isPending}>
                <p class="flex min-h-24 items-center gap-3 px-1 text-ink-soft" role="status">
                  <Spinner /> Loading…
                </p>
              </Match>
              <Match when={true}>
                <div class="space-y-3">
                  <For each={[approvals, requests]}>
                    {(query) => (
                      <Show when={query.error}>
                        {(error) => (
                          <ErrorNotice error={error()} onRetry={() => void query.refetch()} />
                        )}
                      </Show>
                    )}
                  </For>
                </div>
                {/* Not shown without an answer, because then it is unknown whether something waits.
                 */}
                <Show when={approvals.data !== undefined || waiting().length > 0}>
                  <WaitingList
                    items={waiting()}
                    othersCount={othersCount()}
                    none={
                      orgRequests().length > 0
                        ? 'No call waits for you; what members ask for is below.'
                        : 'Nothing waits for you. When an agent needs you it appears here and in the tab’s title.'
                    }
                  />
                </Show>
              </Match>
            </Switch>
          </HomeSection>
          <ToFix />
          <Show when={orgRequests().length > 0}>
            <OrgRequests requests={orgRequests()} />
          </Show>
        </>
      }
      right={<SinceLastVisit isOfOrg={me().role === 'admin'} />}
      last={
        <Show when={me().role === 'admin'}>
          <AllWell />
        </Show>
      }
    />
  );
}

function HomeOfAuditor() {
  useTitle(() => 'Home');
  const latest = useQuery(() => latestRecordsQuery());
  const denied = useQuery(() => deniedRecordsQuery());
  return (
    <HomeFrame
      left={
        <>
          <Loaded query={latest}>{(page) => <ChainState newest={page().items[0]} />}</Loaded>
          <HomeSection title="Denied last">
            <Loaded query={denied}>
              {(page) => (
                <CallList
                  calls={page().items.map(presentCall)}
                  none="No call was denied, by a rule or by a person."
                />
              )}
            </Loaded>
          </HomeSection>
        </>
      }
      right={<SinceLastVisit isOfOrg />}
    />
  );
}

/** With one column, `last` is at the end. With two columns, it is below the left column. */
function HomeFrame(props: { left: JSX.Element; right: JSX.Element; last?: JSX.Element }) {
  return (
    <main id="content" class="mx-auto max-w-6xl px-3 py-4 sm:px-6 sm:py-6">
      <h1 class="mb-4 px-1 text-xl font-semibold sm:text-2xl">Home</h1>
      <div class="grid gap-8 xl:grid-cols-[minmax(0,1fr)_26rem] xl:grid-rows-[auto_1fr]">
        <div class="min-w-0 space-y-8">{props.left}</div>
        <div class="min-w-0 space-y-8 xl:row-span-2">{props.right}</div>
        <div class="min-w-0">{props.last}</div>
      </div>
    </main>
  );
}

/** The most templates that are loaded for the note about missing apps. */
const templatesMax = 5;
const orgRequestsMax = 8;

/**
 * What members ask of the admins. A note says if an admin first has to register an app at the
 * provider.
 */
function OrgRequests(props: { requests: ReturnType<typeof orgRequestsOf> }) {
  const templateKeys = createMemo(() =>
    [...new Set(props.requests.flatMap(({ template }) => template?.key ?? []))].slice(
      0,
      templatesMax,
    ),
  );
  const apps = useQuery(() => oauthAppsQuery());
  const templates = useQueries(() => ({
    queries: templateKeys().map((key) => ({ ...requestedTemplateQuery(key), retry: false })),
  }));
  const missingApps = createMemo(() =>
    missingAppsOf(
      templates.flatMap(({ data }) => data ?? []),
      apps.data?.items ?? [],
    ),
  );
  const noteOf = (key: string | undefined) => {
    const title = key === undefined ? undefined : missingApps().get(key);
    return title && `Needs an app of ${title}, which nobody has registered yet.`;
  };
  return (
    <HomeSection title="Asked of the admins">
      <Rows>
        <For each={props.requests.slice(0, orgRequestsMax)}>
          {(request) => (
            <li>
              <RequestRow request={request} note={noteOf(request.template?.key)} />
            </li>
          )}
        </For>
      </Rows>
      <Show when={props.requests.length > orgRequestsMax}>
        <p class="px-1 pt-2 text-sm text-ink-soft">
          And {props.requests.length - orgRequestsMax} more, once these are answered.
        </p>
      </Show>
    </HomeSection>
  );
}

/** Shown only if there is something to fix, or if loading failed. */
function ToFix() {
  const me = useMe();
  const connections = useQuery(() => connectionsQuery());
  const secrets = useQuery(() => secretsQuery());
  const services = useQuery(() => servicesQuery());
  const fixes = createMemo(() =>
    fixesOf(
      {
        connections: connections.data ?? [],
        secrets: secrets.data ?? [],
        services: services.data ?? [],
      },
      me(),
    ),
  );
  const failed = () => [connections, secrets, services].find(({ error }) => error !== null);
  return (
    <Show when={fixes().length > 0 || failed() !== undefined}>
      <HomeSection title="To fix">
        <Show when={failed()}>
          {(query) => (
            <Show when={query().error}>
              {(error) => <ErrorNotice error={error()} onRetry={() => void query().refetch()} />}
            </Show>
          )}
        </Show>
        <Show when={fixes().length > 0}>
          <FixList fixes={fixes()} />
        </Show>
      </HomeSection>
    </Show>
  );
}

const lastCallsMax = 10;
/**
 * A call that needs no approval causes no public event, so the counts are loaded again at
 * intervals.
 */
const askEveryMs = 60_000;

/** What was called while the person was away. */
function SinceLastVisit(props: { isOfOrg: boolean }) {
  const visit = useQuery(() => visitQuery());
  const range = createMemo(() =>
    visit.isPending ? null : sinceOf(visit.data?.previous_visit_at ?? null, serverNowMs()),
  );
  const usage = useQuery(() => ({
    ...usageSinceQuery(range()?.since ?? ''),
    enabled: range() !== null,
    refetchInterval: askEveryMs,
  }));
  const latest = useQuery(() => ({ ...latestRecordsQuery(), refetchInterval: askEveryMs }));
  const callers = () => (props.isOfOrg ? 'Nobody in the organisation' : 'None of your agents');
  const isVisit = () => range()?.isVisit === true;
  const lastCalls = (page: { items: AuditRecord[] }) => lastCallsOf(page.items, lastCallsMax);
  // On a first visit without calls, only "Last calls" is shown, which says that nothing has
  // happened yet.
  const isNew = () =>
    !isVisit() && latest.data !== undefined && lastCalls(latest.data).length === 0;
  return (
    <>
      <Show when={!isNew()}>
        <HomeSection
          title={isVisit() ? 'Since your last visit' : 'In the last 7 days'}
          note={
            <Show when={isVisit() && usage.data}>
              {(answer) => (
                <>
                  counted from <TimeAgo at={answer().from} />
                </>
              )}
            </Show>
          }
        >
          <Loaded query={usage}>
            {(answer) => (
              <OutcomeCounts
                usage={answer()}
                none={`${callers()} called anything ${isVisit() ? 'since then' : 'in this time'}.`}
              />
            )}
          </Loaded>
        </HomeSection>
      </Show>
      <HomeSection
        title="Last calls"
        note={
          <A class="text-accent underline" href="/activity">
            All activity
          </A>
        }
      >
        <Loaded query={latest}>
          {(page) => (
            <CallList
              calls={lastCalls(page())}
              none="Nothing happened yet. Calls of agents appear here."
            />
          )}
        </Loaded>
      </HomeSection>
    </>
  );
}
