import { For, Index, Show } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { LongText } from '../../ui/long-text.tsx';
import { useIsPhone } from '../../ui/media.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { Field, Section } from './section.tsx';

/** The number of fields that fit above the buttons on a small phone. */
const firstFieldsMax = 3;

/** How much of each of these fields a phone shows at first: two lines. */
const firstFieldLength = { charactersMax: 64, linesMax: 2 } as const;

/** The fields that the template's author wants people to see. */
export function DisclosedFields(props: { title: string; fields: ApprovalResponse['disclosed'] }) {
  const isGiven = (field: ApprovalResponse['disclosed'][number]) =>
    field.value !== '' || field.error !== undefined;
  const isPhone = useIsPhone();
  const lengthOf = (index: number): { charactersMax?: number; linesMax?: number } =>
    isPhone() && index < firstFieldsMax ? firstFieldLength : {};
  const givenFields = () => props.fields.filter(isGiven);
  const absentFields = () => props.fields.filter((field) => !isGiven(field));
  return (
    <Show when={props.fields.length > 0}>
      <Section title={props.title} isTitleSpared>
        <dl class="grid gap-2 sm:gap-3">
          {/* Rows are kept by position: after a reload they have the same text, so an opened value
              stays open. */}
          <Index each={givenFields()}>
            {(field, index) => (
              <Field
                label={<VisibleText text={field().label} />}
                isShort={isShort(field(), lengthOf(index).charactersMax)}
                isDisclosed
              >
                <Show
                  when={field().error}
                  fallback={
                    <>
                      <LongText text={field().value} {...lengthOf(index)} />
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
        <Show when={absentFields().length > 0}>
          <p class="mt-3 text-sm text-ink-soft">
            Not given:{' '}
            <For each={absentFields()}>
              {(field, index) => (
                <>
                  {index() > 0 ? ', ' : ''}
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

/**
 * Whether the value is beside its label on a phone, so that more fields fit on the screen. That is
 * the case for a short value, and for one that is cut to a few lines.
 */
function isShort(
  { label, value, error }: ApprovalResponse['disclosed'][number],
  charactersMax: number | undefined,
): boolean {
  if (error !== undefined || label.length > 24) return false;
  return charactersMax !== undefined || (value.length <= 60 && !value.includes('\n'));
}
