import { Route, Router, usePreloadRoute } from '@solidjs/router';
import { QueryClientProvider } from '@tanstack/solid-query';
import type { JSX } from 'solid-js';

import { dashboardPaths } from '#contracts/http/dashboard-paths';
import { createQueryClient } from './api/query-client.ts';
import { ApprovalPage } from './features/approvals/approval-page.tsx';
import { ApprovalsPage, NoApprovalChosen } from './features/approvals/approvals-page.tsx';
import { Session } from './features/session/session.tsx';
import { lazyPage } from './shell/lazy-page.tsx';
import { NotFound } from './shell/not-found.tsx';
import { Shell } from './shell/shell.tsx';
import { AfterFirstAnswers } from './ui/first-answers.tsx';
import { useIsWide } from './ui/media.ts';

/** The router needs the path of a nested page without the path of the surrounding page. */
const approvalSubpath = dashboardPaths.approval.slice(dashboardPaths.approvals.length);

/** The id in an address must be a UUID. Any other address belongs to no page. */
const hasId = { id: /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i };

/**
 * The code of the approvals page is part of the first load, because notifications lead there. The
 * code of every other page is loaded when the page is opened.
 */
const pages = {
  home: lazyPage(async () => (await import('./features/home/home-page.tsx')).HomePage),
  agents: lazyPage(async () => (await import('./features/agents/agents-page.tsx')).AgentsPage),
  agent: lazyPage(async () => (await import('./features/agents/agent-page.tsx')).AgentPage),
  activity: lazyPage(
    async () => (await import('./features/activity/activity-page.tsx')).ActivityPage,
  ),
  provide: lazyPage(async () => (await import('./features/provide/provide-page.tsx')).ProvidePage),
  request: lazyPage(async () => (await import('./features/connect/request-page.tsx')).RequestPage),
  newService: lazyPage(
    async () => (await import('./features/connect/new-service-page.tsx')).NewServicePage,
  ),
  services: lazyPage(
    async () => (await import('./features/services/services-page.tsx')).ServicesPage,
  ),
  service: lazyPage(async () => (await import('./features/services/service-page.tsx')).ServicePage),
  serviceOfOrg: lazyPage(
    async () => (await import('./features/services/service-page.tsx')).OrgServicePage,
  ),
  credentials: lazyPage(
    async () => (await import('./features/credentials/credentials-page.tsx')).CredentialsPage,
  ),
  sample: lazyPage(async () => (await import('./features/first-run/sample-page.tsx')).SamplePage),
  members: lazyPage(async () => (await import('./features/members/members-page.tsx')).MembersPage),
  webhooks: lazyPage(
    async () => (await import('./features/webhooks/webhooks-page.tsx')).WebhooksPage,
  ),
  settings: lazyPage(
    async () => (await import('./features/settings/settings-page.tsx')).SettingsPage,
  ),
  profile: lazyPage(async () => (await import('./features/profile/profile-page.tsx')).ProfilePage),
};

export function App() {
  // The client is not created inside the attribute, because Solid would create a new one each time
  // it reads the attribute.
  const queryClient = createQueryClient();
  return (
    <QueryClientProvider client={queryClient}>
      <Router root={Root}>
        <Route path={dashboardPaths.home} component={pages.home} />
        <Route path={dashboardPaths.approvals} component={Approvals}>
          <Route path="/" component={NoApprovalChosen} />
          <Route path={approvalSubpath} matchFilters={hasId} component={ApprovalPage} />
        </Route>
        <Route path={dashboardPaths.agents} component={pages.agents} />
        <Route path={dashboardPaths.agent} matchFilters={hasId} component={pages.agent} />
        <Route path={dashboardPaths.provide} component={pages.provide} />
        <Route path={dashboardPaths.request} matchFilters={hasId} component={pages.request} />
        <Route path={dashboardPaths.services} component={pages.services} />
        <Route path={dashboardPaths.newService} component={pages.newService} />
        <Route path={dashboardPaths.credentials} component={pages.credentials} />
        <Route path={dashboardPaths.service} component={pages.service} />
        <Route path={dashboardPaths.serviceOfOrg} component={pages.serviceOfOrg} />
        <Route path={dashboardPaths.ownService} component={pages.service} />
        <Route path={dashboardPaths.activity} component={pages.activity} />
        <Route path={dashboardPaths.members} component={pages.members} />
        <Route path={dashboardPaths.webhooks} component={pages.webhooks} />
        <Route path={dashboardPaths.settings} component={pages.settings} />
        <Route path={dashboardPaths.profile} component={pages.profile} />
        <Route path={dashboardPaths.sample} component={pages.sample} />
        <Route path="*" component={NotFound} />
      </Router>
    </QueryClientProvider>
  );
}

/**
 * What surrounds every page. The code of the page is loaded while the gateway is asked who is
 * signed in.
 */
function Root(props: { children?: JSX.Element }) {
  usePreloadRoute()(location.href);
  return (
    <Session>
      <Shell>{props.children}</Shell>
    </Session>
  );
}

/**
 * On a phone only the list or the card is shown, as soon as its own data is loaded: a person who
 * follows a notification must not wait for the list.
 */
function Approvals(props: { children?: JSX.Element }) {
  const isWide = useIsWide();
  return (
    <AfterFirstAnswers address={dashboardPaths.approvals} isNeeded={isWide()}>
      <ApprovalsPage>{props.children}</ApprovalsPage>
    </AfterFirstAnswers>
  );
}
