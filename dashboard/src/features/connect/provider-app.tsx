import { useMutation, useQueryClient } from '@tanstack/solid-query';
import { For, Show, createSignal } from 'solid-js';
import { createStore } from 'solid-js/store';

import type { OauthApp, OauthAppBody } from '#contracts/http/oauth-apps';
import { Button } from '../../ui/button.tsx';
import { CopyText } from '../../ui/copy-text.tsx';
import { SecretField, TextField } from '../../ui/field.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { askAdmin, oauthAppQuery, putOauthApp } from './connect.queries.ts';
import { variableLabel } from './connect-view.ts';

const clientIdCharactersMax = 500;
const clientSecretCharactersMax = 2000;

/**
 * The form in which an admin sets up the org's app at a provider. It is shown when an account is to
 * be connected and the app is missing.
 */
export function ProviderAppForm(props: { app: OauthApp; scopes: readonly string[] }) {
  const queryClient = useQueryClient();
  const [clientId, setClientId] = createSignal('');
  const [clientSecret, setClientSecret] = createSignal('');
  const [isShown, setShown] = createSignal(false);
  const [variables, setVariables] = createStore<Record<string, string>>({});
  const saveMutation = useMutation(() => ({
    mutationFn: putOauthApp,
    onSuccess: (app: OauthApp) =>
      queryClient.setQueryData(oauthAppQuery(app.provider).queryKey, app),
  }));
  const toAppBody = (): OauthAppBody => ({
    client_id: clientId().trim(),
    ...(clientSecret() === '' ? {} : { client_secret: clientSecret() }),
    variables: Object.fromEntries(
      Object.entries(variables).filter(([, value]) => value.trim() !== ''),
    ),
  });

  return (
    <section
      class="grid gap-4 rounded-xl border border-line bg-canvas p-4"
      aria-labelledby="app-title"
    >
      <div>
        <h3 id="app-title" class="font-semibold">
          Once for your organisation: set up {props.app.title}
        </h3>
        <p class="text-sm text-ink-soft">
          {props.app.title} wants to know the program that asks. Register it there, then enter here
          what {props.app.title} gives you. Afterwards everybody can connect an account.
        </p>
      </div>
      <Show when={props.app.app_page}>
        {(page) => (
          <a
            class="inline-flex min-h-11 items-center justify-center rounded-lg border border-line-strong bg-surface px-4 py-2 text-center font-semibold hover:bg-sunken"
            href={page()}
            target="_blank"
            rel="noopener noreferrer external"
          >
            Open the page at {new URL(page()).host}
            <span class="sr-only"> (in a new tab)</span>
          </a>
        )}
      </Show>
      <Show when={(props.app.steps ?? []).length > 0}>
        <ol class="grid list-decimal gap-1.5 pl-6">
          <For each={props.app.steps}>{(step) => <li>{step}</li>}</For>
        </ol>
      </Show>
      <CopyText label="Redirect URI" text={props.app.redirect_uri} />
      <Show when={props.scopes.length > 0}>
        <CopyText label="Scopes to tick there" text={props.scopes.join('\n')} />
      </Show>
      <div
        class="grid gap-4"
        onKeyDown={(event) => {
          // Enter in one of these fields must not submit the form around them.
          if (event.key === 'Enter' && event.target instanceof HTMLInputElement) {
            event.preventDefault();
            if (clientId().trim() !== '')
              saveMutation.mutate({ provider: props.app.provider, body: toAppBody() });
          }
        }}
      >
        <For each={props.app.needed_variables}>
          {(variable) => (
            <TextField
              label={`${variableLabel(variable.name)}, where people sign in`}
              hint={variable.description}
              value={variables[variable.name] ?? ''}
              placeholder={variable.default ?? ''}
              isMonospace
              onChange={(value) => setVariables(variable.name, value)}
            />
          )}
        </For>
        <TextField
          label="Client ID"
          value={clientId()}
          onChange={setClientId}
          maxLength={clientIdCharactersMax}
          isMonospace
        />
        <Show when={props.app.needs_client_secret !== false}>
          <SecretField
            label="Client secret"
            hint="It is encrypted and never shown again."
            value={clientSecret()}
            onChange={setClientSecret}
            isShown={isShown()}
            onShow={setShown}
            showLabel="Show: Client secret"
            maxLength={clientSecretCharactersMax}
            isOptional
          />
        </Show>
        <Show when={saveMutation.error}>{(error) => <ErrorNotice error={error()} />}</Show>
        <Button
          look="primary"
          disabled={saveMutation.isPending || clientId().trim() === ''}
          onClick={() => saveMutation.mutate({ provider: props.app.provider, body: toAppBody() })}
        >
          {saveMutation.isPending ? 'Saving…' : 'Save and go on'}
        </Button>
      </div>
    </section>
  );
}

/** Shown for an MCP server whose provider nobody has set up: the gateway registers itself there. */
export function SelfRegistration(props: { provider: string; title: string; server: string }) {
  const queryClient = useQueryClient();
  const registerMutation = useMutation(() => ({
    mutationFn: putOauthApp,
    onSuccess: (app: OauthApp) =>
      queryClient.setQueryData(oauthAppQuery(app.provider).queryKey, app),
  }));
  return (
    <section class="grid gap-3 rounded-xl border border-line bg-canvas p-4">
      <p>
        {props.title} is not set up yet. Its server can register the gateway by itself, once for
        your organisation.
      </p>
      <Show when={registerMutation.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <Button
        look="primary"
        disabled={registerMutation.isPending}
        onClick={() =>
          registerMutation.mutate({
            provider: props.provider,
            body: { definition: { title: props.title, mcp_server: props.server } },
          })
        }
      >
        {registerMutation.isPending ? 'Registering…' : `Set up ${props.title}`}
      </Button>
    </section>
  );
}

/** Shown to a member: an admin has to set up the provider before accounts can be connected. */
export function AskAdmin(props: {
  title: string;
  template: string;
  name: string;
  reason: string | null;
  hasOtherWay: boolean;
}) {
  const adminRequest = useMutation(() => ({ mutationFn: askAdmin }));
  return (
    <Show
      when={adminRequest.data}
      fallback={
        <Notice tone="warning">
          <p>
            Your organisation has no access to accounts at {props.title} yet; an admin sets that up.
            {props.hasOtherWay ? ' Choose another way above, or ask.' : ''}
          </p>
          <Show when={adminRequest.error}>
            {(error) => (
              <div class="mt-3">
                <ErrorNotice error={error()} />
              </div>
            )}
          </Show>
          <Button
            class="mt-3"
            disabled={adminRequest.isPending}
            onClick={() =>
              adminRequest.mutate({
                template: props.template,
                name: props.name,
                reason: props.reason,
              })
            }
          >
            {adminRequest.isPending ? 'Asking…' : 'Ask an admin'}
          </Button>
        </Notice>
      }
    >
      {(asked) => (
        <Notice tone="good" role="status">
          <p class="font-medium">The admins are asked to connect it for everybody.</p>
          <p class="mt-1 text-sm">
            <Icon name="user" class="inline size-4" /> You can also send one of them this link:
          </p>
          <div class="mt-2">
            <CopyText label="Link for an admin" text={asked().url} />
          </div>
        </Notice>
      )}
    </Show>
  );
}
