import { For, Show } from 'solid-js';

import type { ShownCredential } from '#contracts/audit';
import { credentialPlaces } from '#contracts/credential-place';
import { Icon } from '../../ui/icon.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';

/**
 * A line with the account or secret that the call uses. For a decision it matters as much as the
 * action.
 */
export function CallAccount(props: {
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
            {(credential, index) => (
              <>
                {index() > 0 ? ', ' : ''}
                {kindWord(credential, index() === 0)} <AccountName credential={credential} />
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

/**
 * The name of the account at the provider, because its owner recognises that name. If it is
 * unknown, the name of the credential in the gateway.
 */
function AccountName(props: { credential: ShownCredential }) {
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

/**
 * Shows where in the request each credential is put. The dashboard never has a credential's value.
 */
export function CredentialPlaces(props: { credentials: readonly ShownCredential[] }) {
  return (
    <ul class="grid gap-2">
      <For each={props.credentials}>
        {(credential) => (
          <li>
            <span class="font-mono text-sm font-semibold">
              <VisibleText text={credential.key} />
            </span>{' '}
            {credentialPlaces[credential.in].displayName} from{' '}
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
