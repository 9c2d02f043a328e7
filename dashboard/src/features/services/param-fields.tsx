import { For, Match, Show, Switch, createUniqueId } from 'solid-js';

import { fieldLook } from '../../ui/field.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import type { ParamField } from './params-view.ts';

const textMax = 100_000;

interface FieldsProps {
  readonly fields: readonly ParamField[];
  readonly entered: Readonly<Record<string, string | undefined>>;
  readonly problems: Readonly<Record<string, string>>;
  readonly onEnter: (name: string, text: string) => void;
}

/**
 * The form for the parameters of an action. Optional parameters are shown only after another click.
 */
export function ParamFields(props: FieldsProps) {
  const required = () => props.fields.filter(({ isRequired }) => isRequired);
  const optional = () => props.fields.filter(({ isRequired }) => !isRequired);
  const hasOptionalProblem = () => optional().some(({ name }) => name in props.problems);
  return (
    <>
      <For each={required()}>{(field) => <ParamInput {...props} field={field} />}</For>
      <Show when={optional().length > 0}>
        <details
          open={required().length === 0 && optional().length <= 4 ? true : hasOptionalProblem()}
        >
          <summary class="min-h-6 font-medium">
            {optional().length === 1
              ? 'One parameter that may be left out'
              : `${optional().length} parameters that may be left out`}
          </summary>
          <div class="mt-3 grid grid-cols-[minmax(0,1fr)] gap-4">
            <For each={optional()}>{(field) => <ParamInput {...props} field={field} />}</For>
          </div>
        </details>
      </Show>
    </>
  );
}

const kindHints = {
  list: 'One value a line.',
  json: 'As JSON.',
  text: '',
  long_text: '',
  number: '',
  boolean: '',
  choice: '',
} as const;

function ParamInput(props: FieldsProps & { field: ParamField }) {
  const id = createUniqueId();
  const value = () => props.entered[props.field.name] ?? '';
  const problem = () => props.problems[props.field.name];
  const hint = () =>
    [props.field.description, kindHints[props.field.kind]].filter(Boolean).join(' ');
  const enter = (event: { currentTarget: { value: string } }) =>
    props.onEnter(props.field.name, event.currentTarget.value);
  const common = () => ({
    id,
    class: `mt-1 ${fieldLook}`,
    'aria-describedby': `${id}-hint`,
    'aria-invalid': problem() !== undefined,
    'aria-required': props.field.isRequired,
  });
  const rows = () => (props.field.kind === 'long_text' ? 4 : 3);
  return (
    <div>
      <label for={id} class="font-mono text-sm font-semibold wrap-anywhere">
        <VisibleText text={props.field.name} />
      </label>
      <p id={`${id}-hint`} class="text-sm wrap-anywhere text-ink-soft">
        <VisibleText text={hint()} />
        <Show when={problem()}>
          {(text) => <span class="block font-medium text-high">{text()}</span>}
        </Show>
      </p>
      <Switch>
        <Match when={props.field.kind === 'choice'}>
          <select {...common()} value={value()} onChange={enter}>
            <option value="">{props.field.isRequired ? 'Choose…' : 'Leave out'}</option>
            <For each={props.field.choices}>
              {({ text }) => <option value={text}>{text}</option>}
            </For>
          </select>
        </Match>
        <Match when={props.field.kind === 'boolean'}>
          <select {...common()} value={value()} onChange={enter}>
            <option value="">{props.field.isRequired ? 'Choose…' : 'Leave out'}</option>
            <option value="true">true</option>
            <option value="false">false</option>
          </select>
        </Match>
        <Match when={['text', 'number'].includes(props.field.kind)}>
          <input
            {...common()}
            type="text"
            inputmode={props.field.kind === 'number' ? 'decimal' : undefined}
            maxLength={textMax}
            placeholder={props.field.placeholder}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            value={value()}
            onInput={enter}
          />
        </Match>
        <Match when={true}>
          <textarea
            {...common()}
            rows={rows()}
            classList={{ 'font-mono': props.field.kind === 'json' }}
            maxLength={textMax}
            placeholder={props.field.placeholder}
            spellcheck={false}
            value={value()}
            onInput={enter}
          />
        </Match>
      </Switch>
    </div>
  );
}
