import { useMutation, useQuery, useQueryClient } from '@tanstack/solid-query';
import { For, Match, Show, Switch, onMount } from 'solid-js';

import type { SecretDetail } from '#contracts/http/secrets';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { Loading } from '../services/parts.tsx';
import { restoreSecretVersion, secretVersionsQuery } from './credentials.queries.ts';

/** The versions of a secret, without their values. An earlier version can be restored. */
export function SecretVersions(props: { secret: SecretDetail; onDone: () => void }) {
  const queryClient = useQueryClient();
  const versions = useQuery(() => secretVersionsQuery(props.secret.id));
  const restoring = useMutation(() => ({
    mutationFn: restoreSecretVersion,
    onSuccess: async (secret, { version }) => {
      announce(`Version ${version} is in use again, as version ${secret.current_version}`);
      await queryClient.invalidateQueries();
    },
  }));
  return (
    <div class="grid gap-3">
      <p
        ref={(element) => onMount(() => element.focus({ preventScroll: true }))}
        tabindex="-1"
        class="text-sm text-ink-soft"
      >
        An earlier value that is taken again becomes the newest version.
      </p>
      <Switch fallback={<Loading />}>
        <Match when={versions.data}>
          {(list) => (
            <ul class="divide-y divide-line rounded-lg border border-line">
              <For each={list()}>
                {({ version, created_at: at, current }) => (
                  <li class="flex min-h-11 flex-wrap items-center justify-between gap-2 px-3 py-2">
                    <span>
                      Version {version}, <TimeAgo at={at} />
                    </span>
                    <Show
                      when={!current}
                      fallback={<span class="text-sm font-semibold text-accent">In use</span>}
                    >
                      <Button
                        disabled={restoring.isPending}
                        onClick={() => restoring.mutate({ id: props.secret.id, version })}
                      >
                        Take it again<span class="sr-only">: version {version}</span>
                      </Button>
                    </Show>
                  </li>
                )}
              </For>
            </ul>
          )}
        </Match>
        <Match when={versions.error}>
          {(error) => <ErrorNotice error={error()} onRetry={() => void versions.refetch()} />}
        </Match>
      </Switch>
      <Show when={restoring.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <Button class="justify-self-start" onClick={() => props.onDone()}>
        Close
      </Button>
    </div>
  );
}
