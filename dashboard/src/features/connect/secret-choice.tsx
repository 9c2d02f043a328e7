import { For, Show, createUniqueId } from 'solid-js';

import type { Secret } from '#contracts/http/secrets';
import { RadioBox, SecretField } from '../../ui/field.tsx';
import { PartFields } from '../../ui/part-fields.tsx';
import { secretValueMax } from '../../ui/secret-parts.ts';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { findNewHosts, secretLabel } from './connect-view.ts';
import type { NeededSecret } from './connect-view.ts';

/** The secret that a person chose: the name of a stored secret, or a new value. */
export interface SecretChoice {
  readonly name: string | null;
  readonly value: string;
  readonly isShown: boolean;
}

/** The field for one secret of the service. It offers stored secrets first. */
export function SecretChoiceField(props: {
  needed: NeededSecret;
  fittingSecrets: readonly Secret[];
  hosts: readonly string[];
  choice: SecretChoice;
  onChange: (change: Partial<SecretChoice>) => void;
}) {
  const groupId = createUniqueId();
  const label = () => secretLabel(props.needed);

  return (
    <Show when={props.fittingSecrets.length > 0} fallback={<NewSecret {...props} />}>
      <fieldset class="grid gap-2">
        <legend class="mb-2 font-semibold">{label()}</legend>
        <For each={props.fittingSecrets}>
          {(secret) => (
            <RadioBox
              name={groupId}
              isChecked={props.choice.name === secret.name}
              onChoose={() => props.onChange({ name: secret.name })}
              label={
                <>
                  Use <code class="font-mono">{secret.name}</code>, which is stored already
                </>
              }
              hint={
                <>
                  {findNewHosts(secret, props.hosts).length === 0
                    ? 'It may be sent to this service.'
                    : `From now on it may be sent to ${findNewHosts(secret, props.hosts).join(', ')} too.`}
                  <Show when={secret.refused_at}>
                    {(at) => (
                      <span class="block font-medium text-medium">
                        It was refused <TimeAgo at={at()} inSentence />, so calls with it will
                        probably fail.
                      </span>
                    )}
                  </Show>
                </>
              }
            />
          )}
        </For>
        <RadioBox
          name={groupId}
          isChecked={props.choice.name === null}
          onChoose={() => props.onChange({ name: null })}
          label="Enter another"
        />
        <Show when={props.choice.name === null}>
          <NewSecret {...props} />
        </Show>
      </fieldset>
    </Show>
  );
}

interface NewSecretProps {
  needed: NeededSecret;
  choice: SecretChoice;
  onChange: (change: Partial<SecretChoice>) => void;
  hosts: readonly string[];
}

function NewSecret(props: NewSecretProps) {
  return (
    <Show when={props.needed.parts} fallback={<WholeSecret {...props} />}>
      {(parts) => (
        <PartFields
          parts={parts()}
          hint={<SecretHint {...props} />}
          value={props.choice.value}
          onChange={(value) => props.onChange({ value })}
          isShown={props.choice.isShown}
          onShow={(isShown) => props.onChange({ isShown })}
        />
      )}
    </Show>
  );
}

function WholeSecret(props: NewSecretProps) {
  return (
    <SecretField
      label={secretLabel(props.needed)}
      hint={<SecretHint {...props} />}
      value={props.choice.value}
      onChange={(value) => props.onChange({ value })}
      isShown={props.choice.isShown}
      onShow={(isShown) => props.onChange({ isShown })}
      showLabel={`Show: ${secretLabel(props.needed)}`}
      maxLength={secretValueMax}
    />
  );
}

/** The template's description of the secret, and where the gateway sends the secret. */
function SecretHint(props: { needed: NeededSecret; hosts: readonly string[] }) {
  const signInHosts = () => props.needed.token_hosts ?? [];
  const serviceHosts = () => props.hosts.filter((host) => !signInHosts().includes(host));
  return (
    <>
      <Show when={props.needed.description}>
        {(description) => (
          <span class="block wrap-anywhere">
            <VisibleText text={description()} />
          </span>
        )}
      </Show>
      No agent sees it.
      <Show when={signInHosts().length > 0}>
        {' '}
        The gateway signs in with it at <VisibleText text={signInHosts().join(', ')} />.
      </Show>
      <Show when={serviceHosts().length > 0}>
        {' '}
        {signInHosts().length > 0
          ? 'What it gets there is only sent to'
          : 'It is only sent to'}{' '}
        <VisibleText text={serviceHosts().join(', ')} />.
      </Show>
    </>
  );
}
