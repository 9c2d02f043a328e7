import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/solid-query';
import { Show } from 'solid-js';

import type { OauthClient } from '#contracts/http/oauth-clients';
import { announce } from '../../ui/announcer.tsx';
import { Chip } from '../../ui/chip.tsx';
import { KeyedList } from '../../ui/keyed-list.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { MoreButton } from '../../ui/more-button.tsx';
import { Nothing } from '../../ui/nothing.tsx';
import { ActAfterQuestion } from '../../ui/question.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { oauthClientsQuery, revokeOauthClient } from './settings.queries.ts';

/** The OAuth clients (programs) that people have authorized, with a button to shut one out. */
export function ClientList(props: { canChange: boolean }) {
  const clients = useInfiniteQuery(() => oauthClientsQuery());
  const items = () => clients.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Loaded query={clients}>
      {() => (
        <Show when={items().length > 0} fallback={<Nothing>No program has signed in yet.</Nothing>}>
          <ul class="divide-y divide-line">
            <KeyedList items={items()} keyOf={({ id }) => id}>
              {(client) => <ClientRow client={client()} canChange={props.canChange} />}
            </KeyedList>
          </ul>
          <MoreButton query={clients} class="mt-3" />
        </Show>
      )}
    </Loaded>
  );
}

/** What happens when a client is shut out, by the kind of client. */
const consequences: Record<OauthClient['kind'], string> = {
  seeded:
    'Everybody in the organisation is signed out of the command line at once, and cannot sign in by it again. This cannot be undone.',
  registered:
    'It is signed out everywhere in the organisation at once, and this registration cannot be let in again. The program can register anew, and then asks people again.',
  metadata_document:
    'It is signed out everywhere in the organisation at once, and cannot be let in again.',
};

function ClientRow(props: { client: OauthClient; canChange: boolean }) {
  const queryClient = useQueryClient();
  const revoking = useMutation(() => ({
    mutationFn: revokeOauthClient,
    onSuccess: ({ name }: OauthClient) => announce(`${name} is shut out`),
    onSettled: () => queryClient.invalidateQueries({ queryKey: oauthClientsQuery().queryKey }),
  }));
  const people = () =>
    props.client.bindings.map(({ user, agent }) => `${user.name} › ${agent.name}`);
  return (
    <li class="flex flex-wrap items-center gap-x-4 gap-y-2 py-3 first:pt-0 last:pb-0">
      <div class="min-w-0 grow basis-56">
        <p class="flex flex-wrap items-center gap-2 font-medium wrap-anywhere">
          <VisibleText text={props.client.name} />
          <Show when={props.client.revoked_at !== null}>
            <Chip>Shut out</Chip>
          </Show>
        </p>
        <p class="text-sm wrap-anywhere text-ink-soft">
          <Show when={props.client.revoked_at === null && people().length > 0}>
            acts as <VisibleText text={people().join(', ')} />
            {props.client.bindings_count > people().length
              ? ` and ${props.client.bindings_count - people().length} more`
              : ''}
            {' · '}
          </Show>
          <Show when={props.client.last_used_at} fallback="not used yet">
            {(at) => (
              <>
                used <TimeAgo at={at()} inSentence />
              </>
            )}
          </Show>
        </p>
      </div>
      <Show when={props.canChange && props.client.revoked_at === null}>
        <ActAfterQuestion
          label="Shut out"
          accessibleLabel={`Shut out ${props.client.name}`}
          question={
            <>
              Shut <VisibleText text={props.client.name} /> out of the organisation?
            </>
          }
          consequences={consequences[props.client.kind]}
          yes="Yes, shut it out"
          isBusy={revoking.isPending}
          error={revoking.error}
          onYes={() => revoking.mutate({ id: props.client.id })}
        />
      </Show>
    </li>
  );
}
