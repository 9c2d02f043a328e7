import { For, Index, Show } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { LongText } from '../../ui/long-text.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { Field, Section } from './section.tsx';

/** What the template's author said a person must see. */
export function DisclosedFields(props: { title: string; fields: ApprovalResponse['disclosed'] }) {
  const isGiven = (field: ApprovalResponse['disclosed'][number]) =>
    field.value !== '' || field.error !== undefined;
  const given = () => props.fields.filter(isGiven);
  const absent = () => props.fields.filter((field) => !isGiven(field));
  return (
    <Show when={props.fields.length > 0}>
      <Section title={props.title}>
        <dl class="grid gap-2 sm:gap-3">
          {/* By position: read again, it is the same text, and stays as it was opened. */}
          <Index each={given()}>
            {(field) => (
              <Field
                label={<VisibleText text={field().label} />}
                isShort={isShort(field())}
                isDisclosed
              >
                <Show
                  when={field().error}
                  fallback={
                    <>
                      <LongText text={field().value} />
                      <Show when={field().truncated}>
                        <p class="mt-1 text-sm font-medium text-medium">
                          The gateway cut this off here; see the request below.
                        </p>
                      </Show>
                    </>
                  }
                >
                  {(error) => (
                    <p class="text-medium">
                      Could not be read from the request: <VisibleText text={error()} />
                    </p>
                  )}
                </Show>
              </Field>
            )}
          </Index>
        </dl>
        <Show when={absent().length > 0}>
          <p class="mt-3 text-sm text-ink-soft">
            Not given:{' '}
            <For each={absent()}>
              {(field, at) => (
                <>
                  {at() > 0 ? ', ' : ''}
                  <VisibleText text={field.label} />
                </>
              )}
            </For>
          </p>
        </Show>
      </Section>
    </Show>
  );
}

/** Fits beside its label on a phone, so that more of them are seen at once. */
function isShort({ label, value, error }: ApprovalResponse['disclosed'][number]): boolean {
  return error === undefined && label.length <= 24 && value.length <= 60 && !value.includes('\n');
}
