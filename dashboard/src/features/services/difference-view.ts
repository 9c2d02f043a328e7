import type { TemplateDifference } from '#contracts/http/templates';

export interface DifferenceLine {
  readonly tone: 'added' | 'removed' | 'changed';
  readonly text: string;
}

const partWords = {
  request: 'what is sent',
  parameters: 'parameters',
  permission: 'risk or permission',
  description: 'words',
  security: 'credentials',
} as const;

/** Describes the difference between two versions, with one line for each change. */
export function describeDifference(difference: TemplateDifference): DifferenceLine[] {
  const { actions, hosts, base_url: baseUrl, auth } = difference;
  return [
    ...hosts.added.map((host): DifferenceLine => line('added', `Goes to the host ${host} too`)),
    ...hosts.removed.map((host) => line('removed', `Goes to the host ${host} no longer`)),
    ...(baseUrl === null
      ? []
      : [
          line(
            'changed',
            `Its address was ${baseUrl.from ?? 'open'} and is ${baseUrl.to ?? 'open'}`,
          ),
        ]),
    ...auth.added.map((scheme) => line('added', `A way to sign in: ${scheme}`)),
    ...auth.removed.map((scheme) => line('removed', `No longer a way to sign in: ${scheme}`)),
    ...auth.changed.map((scheme) => line('changed', `The way to sign in ${scheme}`)),
    ...(auth.combinations ? [line('changed', 'Which credentials are needed together')] : []),
    ...actions.removed.map((action) => line('removed', `Action ${action} is gone`)),
    ...actions.changed.map(({ action, parts, scope }) => {
      const words = parts.map((part) => partWords[part]).join(', ');
      const keys =
        scope === undefined
          ? ''
          : `; permissions name ${listOf(scope.to)} instead of ${listOf(scope.from)}`;
      return line('changed', `Action ${action}: ${words}${keys}`);
    }),
    ...actions.added.map((action) => line('added', `Action ${action} is new`)),
  ];
}

const line = (tone: DifferenceLine['tone'], text: string): DifferenceLine => ({ tone, text });
const listOf = (names: readonly string[]) => (names.length === 0 ? 'nothing' : names.join(' and '));

export interface TextLine {
  readonly mark: '+' | '-' | ' ';
  readonly text: string;
}

/** How many equal lines are shown before and after the differing lines. */
const contextLines = 2;

/**
 * The lines that differ between two texts, with a few equal lines around them. All lines from the
 * first to the last difference are shown, from both texts. This needs only linear time.
 */
export function differingLines(before: string, after: string): TextLine[] {
  const old = before.split('\n');
  const current = after.split('\n');
  const shorter = Math.min(old.length, current.length);
  let start = 0;
  while (start < shorter && old[start] === current[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === current.at(-1 - end)) end += 1;
  const equal = (texts: readonly string[]) => texts.map((text): TextLine => ({ mark: ' ', text }));
  return [
    ...equal(old.slice(Math.max(0, start - contextLines), start)),
    ...old.slice(start, old.length - end).map((text): TextLine => ({ mark: '-', text })),
    ...current.slice(start, current.length - end).map((text): TextLine => ({ mark: '+', text })),
    ...equal(old.slice(old.length - end, old.length - end + contextLines)),
  ];
}

/** Part of a tool's definition, as text. */
export function definitionText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
