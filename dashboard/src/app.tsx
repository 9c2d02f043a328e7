import { Navigate, Route, Router } from '@solidjs/router';
import { QueryClientProvider } from '@tanstack/solid-query';

import { createQueryClient } from './api/query-client.ts';
import { ApprovalPage } from './features/approvals/approval-page.tsx';
import { ApprovalsPage, NoneChosen } from './features/approvals/approvals-page.tsx';
import { ProvidePage } from './features/provide/provide-page.tsx';
import { Session } from './features/session/session.tsx';
import { NotFound } from './shell/not-found.tsx';
import { Shell } from './shell/shell.tsx';

export function App() {
  // Not in the attribute: that would make another one each time it is read.
  const queryClient = createQueryClient();
  return (
    <QueryClientProvider client={queryClient}>
      <Router
        root={(props) => (
          <Session>
            <Shell>{props.children}</Shell>
          </Session>
        )}
      >
        <Route path="/" component={() => <Navigate href="/approvals" />} />
        <Route path="/approvals" component={ApprovalsPage}>
          <Route path="/" component={NoneChosen} />
          <Route path="/:id" component={ApprovalPage} />
        </Route>
        <Route path="/provide/:token" component={ProvidePage} />
        <Route path="*" component={NotFound} />
      </Router>
    </QueryClientProvider>
  );
}
