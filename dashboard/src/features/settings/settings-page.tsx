import { useQuery } from '@tanstack/solid-query';
import { For } from 'solid-js';

import { Chip } from '../../ui/chip.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Panel } from '../../ui/panel.tsx';
import { useTitle } from '../../ui/title.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { statusQuery } from '../home/home.queries.ts';
import { useMe } from '../session/session.tsx';
import { ClientList } from './client-list.tsx';
import { OrgSettings } from './org-settings.tsx';
import { orgQuery } from './settings.queries.ts';

/** No event reports that a component has stopped. */
const askEveryMs = 30_000;

/**
 * The page with the settings of the org, the programs that people have authorized, and the state of
 * the gateway.
 */
export function SettingsPage() {
  const me = useMe();
  const org = useQuery(() => orgQuery());
  const canChange = () => me().role === 'admin';
  useTitle(() => 'Settings');
  return (
    <main
      id="content"
      class="mx-auto grid max-w-3xl grid-cols-[minmax(0,1fr)] gap-5 px-3 py-4 sm:px-6 sm:py-8"
    >
      <h1 class="text-xl font-semibold sm:text-2xl">
        Settings of <VisibleText text={me().org.name} />
      </h1>
      <Panel title="How long things last">
        <Loaded query={org}>
          {(data) => <OrgSettings org={data()} canChange={canChange()} />}
        </Loaded>
      </Panel>
      <Panel title="Programs">
        <p class="mb-3 text-sm text-ink-soft">
          Programs that people signed in to the gateway. The command line acts as the person, every
          other program as one of the person’s agents.
        </p>
        <ClientList canChange={canChange()} />
      </Panel>
      <Panel title="The gateway">
        <Components />
      </Panel>
    </main>
  );
}

/** The components of the gateway and the state of each. */
function Components() {
  const status = useQuery(() => ({ ...statusQuery(), refetchInterval: askEveryMs }));
  return (
    <Loaded query={status}>
      {(data) => (
        <ul class="divide-y divide-line">
          <For each={Object.entries(data().components)}>
            {([name, state]) => (
              <li class="flex items-center justify-between gap-3 py-2">
                <span>{name}</span>
                <Chip>{state.status === 'ok' ? 'works' : state.status}</Chip>
              </li>
            )}
          </For>
        </ul>
      )}
    </Loaded>
  );
}
