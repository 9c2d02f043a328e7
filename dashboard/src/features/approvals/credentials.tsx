import { For, Show } from 'solid-js';

import type { ShownCredential } from '#contracts/audit';
import { Icon } from '../../ui/icon.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';

/** On which account, or with which secret, in one line: that decides as much as what is done. */
export function OnWhichAccount(props: {
  credentials: readonly ShownCredential[];
  isRecorded: boolean;
}) {
  return (
    <p class="mt-1.5 flex gap-2 sm:mt-2">
      <Icon name="key" class="mt-0.5 size-5 shrink-0 text-ink-soft" />
      <span class="min-w-0">
        <Show
          when={props.credentials.length > 0}
          fallback={
            props.isRecorded ? 'No account and no secret' : 'Account or secret not recorded'
          }
        >
          <For each={props.credentials}>
            {(credential, at) => (
              <>
                {at() > 0 ? ', ' : ''}
                {kindWord(credential, at() === 0)} <Owner credential={credential} />
              </>
            )}
          </For>
        </Show>
      </span>
    </p>
  );
}

function kindWord({ kind, account }: ShownCredential, isFirst: boolean): string {
  const word = kind === 'connection' && account !== undefined ? 'account' : kind;
  return isFirst ? word[0]?.toUpperCase() + word.slice(1) : word;
}

/** The account at the provider first, as its owner knows it; else what the credential is called here. */
function Owner(props: { credential: ShownCredential }) {
  return (
    <>
      <strong class="font-semibold">
        <VisibleText text={props.credential.account ?? props.credential.name} />
      </strong>
      <Show when={props.credential.account !== undefined}>
        <span class="text-ink-soft">
          {' '}
          (<VisibleText text={props.credential.name} />)
        </span>
      </Show>
    </>
  );
}

/** Where each credential is put on the request. Its value is nowhere in the dashboard. */
export function CredentialPlaces(props: { credentials: readonly ShownCredential[] }) {
  return (
    <ul class="grid gap-2">
      <For each={props.credentials}>
        {(credential) => (
          <li>
            <span class="font-mono text-sm font-semibold">
              <VisibleText text={credential.key} />
            </span>{' '}
            {credential.in === 'header' ? 'header' : 'query parameter'} from{' '}
            {credential.kind === 'secret' ? 'the secret ' : 'the connection '}
            <strong class="font-semibold">
              <VisibleText text={credential.name} />
            </strong>
            <Show when={credential.account}>
              {(account) => (
                <>
                  {' '}
                  (<VisibleText text={account()} />)
                </>
              )}
            </Show>
            <Show when={credential.prefix}>
              {(prefix) => (
                <span class="text-ink-soft">
                  , sent as{' '}
                  <span class="font-mono text-sm">
                    <VisibleText text={prefix()} />
                    •••
                  </span>
                </span>
              )}
            </Show>
          </li>
        )}
      </For>
    </ul>
  );
}
