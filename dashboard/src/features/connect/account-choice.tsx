import { For, Match, Show, Switch, createUniqueId } from 'solid-js';

import type { Connection } from '#contracts/http/connections';
import { Button } from '../../ui/button.tsx';
import { RadioBox } from '../../ui/field.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { findMissingScopes } from './connect-view.ts';
import type { NeededConnection } from './connect-view.ts';

/**
 * Asks which account the service uses: a connected account, or another one. The person chooses here
 * what the account may be used for, and confirms it at the provider.
 */
export function AccountChoice(props: {
  providerTitle: string;
  isForOrg: boolean;
  fittingConnections: readonly Connection[];
  /** The id of the chosen connection. Null if the person wants another account. */
  chosenId: string | null;
  onChoose: (id: string | null) => void;
  account: NeededConnection;
  offeredScopes: readonly string[];
  scopes: readonly string[];
  onScopesChange: (scopes: readonly string[]) => void;
}) {
  const groupId = createUniqueId();
  const chooseAnother = () =>
    props.isForOrg
      ? `An account at ${props.providerTitle} for everybody`
      : `My account at ${props.providerTitle}`;

  return (
    <>
      <Show
        when={props.fittingConnections.length > 0}
        fallback={
          <p>
            You sign in at {props.providerTitle} and come back here. No agent sees the password or
            the access.
          </p>
        }
      >
        <fieldset class="grid gap-2">
          <legend class="mb-2 font-semibold">Account at {props.providerTitle}</legend>
          <For each={props.fittingConnections}>
            {(connection) => (
              <RadioBox
                name={groupId}
                isChecked={props.chosenId === connection.id}
                onChoose={() => props.onChoose(connection.id)}
                label={<VisibleText text={connection.account_label ?? connection.name} />}
                hint={<AccountHint connection={connection} scopes={props.scopes} />}
              />
            )}
          </For>
          <RadioBox
            name={groupId}
            isChecked={props.chosenId === null}
            onChoose={() => props.onChoose(null)}
            label="Another account"
            hint={chooseAnother()}
          />
        </fieldset>
      </Show>
      <Show when={props.offeredScopes.length > 0}>
        <details class="rounded-lg border border-line px-3 py-2.5">
          <summary class="font-medium">
            What {props.providerTitle} is asked for ({props.scopes.length} of{' '}
            {props.offeredScopes.length})
          </summary>
          <Show when={props.account.presets}>
            {(presets) => (
              <p class="mt-2 flex flex-wrap gap-2">
                <Button onClick={() => props.onScopesChange(presets().read_only)}>Read only</Button>
                <Button onClick={() => props.onScopesChange(presets().read_and_change)}>
                  Read and change
                </Button>
              </p>
            )}
          </Show>
          <ul class="mt-2 grid gap-2">
            <For each={props.offeredScopes}>
              {(scope) => (
                <li>
                  <label class="flex cursor-pointer gap-3">
                    <input
                      type="checkbox"
                      class="mt-1 size-4 shrink-0 accent-accent"
                      checked={props.scopes.includes(scope)}
                      onChange={(event) =>
                        props.onScopesChange(
                          event.currentTarget.checked
                            ? props.offeredScopes.filter(
                                (each) => each === scope || props.scopes.includes(each),
                              )
                            : props.scopes.filter((each) => each !== scope),
                        )
                      }
                    />
                    <span>
                      <Show when={props.account.scope_words?.[scope]}>
                        {(words) => (
                          <span class="block">
                            <VisibleText text={words()} />
                          </span>
                        )}
                      </Show>
                      <code class="font-mono text-sm break-all text-ink-soft">{scope}</code>
                      <Show when={props.account.restricted_scopes?.includes(scope)}>
                        <span class="block text-sm text-ink-soft">
                          {props.providerTitle} reviews apps that ask for this.
                        </span>
                      </Show>
                    </span>
                  </label>
                </li>
              )}
            </For>
          </ul>
        </details>
      </Show>
    </>
  );
}

function AccountHint(props: { connection: Connection; scopes: readonly string[] }) {
  const missingCount = () => findMissingScopes(props.connection, props.scopes).length;
  return (
    <Switch>
      <Match when={props.connection.status !== 'active'}>
        Its access has ended; you sign in there again.
      </Match>
      <Match when={props.connection.refused_at}>
        {(at) => (
          <span class="font-medium text-medium">
            Its access was refused <TimeAgo at={at()} inSentence />; you sign in there again.
          </span>
        )}
      </Match>
      <Match when={missingCount() === 0}>Connected already.</Match>
      <Match when={true}>
        Connected already, and asked for{' '}
        {missingCount() === 1 ? 'one more permission' : `${missingCount()} more permissions`} first.
      </Match>
    </Switch>
  );
}
