import { Match, Switch } from 'solid-js';

import type { OauthApp } from '#contracts/http/oauth-apps';
import { Notice } from '../../ui/notice.tsx';
import { AccountChoice } from './account-choice.tsx';
import type { NeededConnection } from './connect-view.ts';
import { AskAdmin, ProviderAppForm, SelfRegistration } from './provider-app.tsx';
import type { Connect } from './use-connect.ts';

/**
 * The part of the form for connecting an account. If an admin has to set up the provider first, it
 * says so.
 */
export function AccountPart(props: {
  form: Connect;
  account: NeededConnection;
  app: OauthApp | null;
  reason: string | null;
}) {
  return (
    <Switch>
      <Match when={props.form.hasApp()}>
        <AccountChoice
          providerTitle={props.form.providerTitle()}
          isForOrg={props.form.tier() === 'org'}
          fittingConnections={props.form.accounts()}
          chosenId={props.form.connection()?.id ?? null}
          onChoose={props.form.setChosenConnection}
          account={props.account}
          offeredScopes={props.form.offeredScopes()}
          scopes={props.form.scopes()}
          onScopesChange={props.form.setScopes}
        />
      </Match>
      <Match when={!props.form.isAdmin}>
        <AskAdmin
          title={props.form.providerTitle()}
          template={props.form.template.key}
          name={props.form.name()}
          reason={props.reason}
          hasOtherWay={props.form.ways.some(props.form.isReady)}
        />
      </Match>
      <Match when={props.app === null && props.form.template.mcp_server}>
        {(server) => (
          <SelfRegistration
            provider={props.account.provider}
            title={props.form.template.title}
            server={server()}
          />
        )}
      </Match>
      <Match when={props.app}>
        {(app) => <ProviderAppForm app={app()} scopes={props.account.scopes} />}
      </Match>
      <Match when={true}>
        <Notice tone="warning">
          No provider "{props.account.provider}" is set up. Define it with PUT /v1/oauth-apps/
          {props.account.provider} first.
        </Notice>
      </Match>
    </Switch>
  );
}
