import { For, Show, createSignal, createUniqueId } from 'solid-js';

import type { OauthApp } from '#contracts/http/oauth-apps';
import { RadioBox, TextField } from '../../ui/field.tsx';
import { AccountPart } from './account-part.tsx';
import { hostsOfSecret, variableLabel, wayLabel } from './connect-view.ts';
import type { Address } from './connect-view.ts';
import { SecretChoiceField } from './secret-choice.tsx';
import type { Connect } from './use-connect.ts';

/**
 * The fields for the address of a service and for its credentials. What the service already has is
 * not asked for.
 */
export function WayFields(props: { form: Connect; app: OauthApp | null; reason: string | null }) {
  const wayGroupId = createUniqueId();
  // Few people need an address of their own, so its field is visible at first only if the template
  // has no address, or if the person entered one earlier.
  // oxlint-disable-next-line solid/reactivity -- the field stays visible when the person empties it
  const [hasOwnAddress] = createSignal(needsOwnAddress(props.form));
  return (
    <>
      <Show when={!props.form.isEverythingHeld && props.form.ways.length > 1}>
        <fieldset class="grid gap-2">
          <legend class="mb-2 font-semibold">Connect with</legend>
          <For each={props.form.ways}>
            {(each, index) => (
              <RadioBox
                name={wayGroupId}
                isChecked={props.form.wayAt() === index()}
                onChoose={() => props.form.setWayAt(index())}
                label={wayLabel(each, props.form.providerTitle())}
                {...(props.form.isReady(each)
                  ? {}
                  : {
                      hint: props.form.isAdmin
                        ? 'You set this up first, once for everybody.'
                        : 'An admin sets this up first.',
                    })}
              />
            )}
          </For>
        </fieldset>
      </Show>
      <For each={props.form.askedVariables()}>
        {(variable) => (
          <TextField
            label={variableLabel(variable.name)}
            hint={variable.description}
            value={props.form.variables[variable.name] ?? ''}
            onChange={(value) => props.form.setVariable(variable.name, value)}
            isRequired
            isMonospace
          />
        )}
      </For>
      <Show
        when={!props.form.isUpgrade && props.form.template.base_url_allowed && props.form.isAdmin}
      >
        <details open={hasOwnAddress()}>
          <summary class="min-h-6 font-medium">Use an installation of your own</summary>
          <div class="mt-3">
            <TextField
              label="Address of your own installation"
              hint={ownAddressHint(props.form.address(), props.form.template.title)}
              type="url"
              value={props.form.baseUrl()}
              onChange={props.form.setBaseUrl}
              isMonospace
            />
          </div>
        </details>
      </Show>
      <For each={props.form.way().secrets}>
        {(needed) => (
          <SecretChoiceField
            needed={needed}
            fittingSecrets={props.form.fittingSecretsOf(needed)}
            hosts={hostsOfSecret(needed, props.form.hosts())}
            choice={props.form.choiceOf(needed)}
            onChange={(change) => props.form.setChoice(needed, change)}
          />
        )}
      </For>
      <Show when={props.form.way().account}>
        {(account) => (
          <AccountPart
            form={props.form}
            account={account()}
            app={props.app}
            reason={props.reason}
          />
        )}
      </Show>
    </>
  );
}

function needsOwnAddress(form: Connect): boolean {
  const { base_url: baseUrl, variables } = form.address();
  return form.baseUrl() !== '' || (baseUrl === null && variables.length === 0);
}

/**
 * The hint below the field for an own address. An address with variables is not shown, because it
 * means nothing to a person before their values are entered.
 */
function ownAddressHint({ base_url: baseUrl, variables }: Address, title: string): string {
  return variables.length > 0
    ? 'Leave it empty: the address follows from what you entered above.'
    : `Leave it empty for ${baseUrl ?? title}.`;
}
