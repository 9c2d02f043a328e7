import type { DescriptionPart } from '../contracts/template.ts';
import { visibleLine } from './hidden-text.ts';

/** A value longer than this is cut: a description is one line that a person reads at a glance. */
const VALUE_CHARACTERS_MAX = 120;

/**
 * What an action is about to do, in one line. Values come from agents: whatever
 * could hide or reorder text (control, format and bidirectional characters) is
 * shown as an escape instead of taking effect.
 */
export function renderDescription(
  parts: readonly DescriptionPart[],
  params: Readonly<Record<string, unknown>>,
): string {
  return parts
    .map((part) => {
      if (!('optional' in part)) return renderPart(part, params);
      const isComplete = part.optional.every(
        (inner) => !('param' in inner) || isGiven(params, inner.param),
      );
      return isComplete ? part.optional.map((inner) => renderPart(inner, params)).join('') : '';
    })
    .join('')
    .trim();
}

type SimplePart = Exclude<DescriptionPart, { optional: unknown }>;

function renderPart(part: SimplePart, params: Readonly<Record<string, unknown>>): string {
  if ('text' in part) return visibleLine(part.text);
  return isGiven(params, part.param) ? renderValue(params[part.param]) : '';
}

function isGiven(params: Readonly<Record<string, unknown>>, name: string): boolean {
  return Object.hasOwn(params, name) && params[name] !== undefined;
}

function renderValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  // Cut before splitting: of a long text only the beginning is ever looked at.
  const characters = Array.from(text.slice(0, 2 * VALUE_CHARACTERS_MAX + 2));
  const isCut = characters.length > VALUE_CHARACTERS_MAX;
  const shown = characters.slice(0, VALUE_CHARACTERS_MAX).join('');
  return visibleLine(shown) + (isCut ? '…' : '');
}
