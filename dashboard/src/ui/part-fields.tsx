import { For, Show } from 'solid-js';
import type { JSX } from 'solid-js';

import type { CredentialPart } from '#contracts/credential-derivation';
import { SecretField, TextField } from './field.tsx';
import { parseParts, secretValueMax, addPart } from './secret-parts.ts';

/**
 * The fields for a secret with several parts, one field for each part. The value is a JSON object.
 */
export function PartFields(props: {
  parts: readonly CredentialPart[];
  hint: JSX.Element;
  value: string;
  onChange: (value: string) => void;
  isShown: boolean;
  onShow: (isShown: boolean) => void;
}) {
  const enteredParts = () => parseParts(props.value);
  const enterPart = (name: string, text: string) =>
    props.onChange(addPart(props.value, props.parts, { name, text }));
  return (
    <div class="grid gap-4">
      <p class="text-sm text-ink-soft">
        {props.hint} A key file in JSON can be pasted into any of the fields.
      </p>
      <For each={props.parts}>
        {(part) => (
          <Show
            when={part.secret}
            fallback={
              <TextField
                label={part.label}
                {...(part.optional ? { hint: 'May be left empty.' } : {})}
                value={enteredParts()[part.name] ?? ''}
                onChange={(text) => enterPart(part.name, text)}
                isRequired={!part.optional}
                isMonospace
                maxLength={secretValueMax}
              />
            }
          >
            <SecretField
              label={part.label}
              {...(part.optional ? { hint: 'May be left empty.' } : {})}
              value={enteredParts()[part.name] ?? ''}
              onChange={(text) => enterPart(part.name, text)}
              isShown={props.isShown}
              onShow={(isShown) => props.onShow(isShown)}
              showLabel={`Show: ${part.label}`}
              isOptional={part.optional}
              maxLength={secretValueMax}
            />
          </Show>
        )}
      </For>
    </div>
  );
}
