import type { DescriptionPart } from '../contracts/template.ts';
import { visibleLine } from './hidden-text.ts';

/** A value longer than this is cut: a description is one line that a person reads at a glance. */
const valueCharactersMax = 120;

/**
 * What an action is about to do, in one line. Values come from agents: whatever
 * could hide or reorder text (control, format and bidirectional characters) is
 * shown as an escape instead of taking effect.
 */
export function renderDescription(
  parts: readonly DescriptionPart[],
  params: Readonly<Record<string, unknown>>,
): string {
  // A parameter may stand there hundreds of times.
  const texts = new Map<string, string>();
  const renderPart = (part: SimplePart): string => {
    if ('text' in part) return visibleLine(part.text);
    const text = texts.get(part.param) ?? renderParam(params, part.param);
    texts.set(part.param, text);
    return text;
  };
  return parts
    .map((part) => {
      if (!('optional' in part)) return renderPart(part);
      const isComplete = part.optional.every(
        (inner) => !('param' in inner) || isGiven(params, inner.param),
      );
      return isComplete ? part.optional.map(renderPart).join('') : '';
    })
    .join('')
    .trim();
}

type SimplePart = Exclude<DescriptionPart, { optional: unknown }>;

function renderParam(params: Readonly<Record<string, unknown>>, name: string): string {
  return isGiven(params, name) ? renderValue(params[name]) : '';
}

function isGiven(params: Readonly<Record<string, unknown>>, name: string): boolean {
  return Object.hasOwn(params, name) && params[name] !== undefined;
}

function renderValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  // Cut before splitting: of a long text only the beginning is ever looked at.
  const characters = Array.from(text.slice(0, 2 * valueCharactersMax + 2));
  const isCut = characters.length > valueCharactersMax;
  const shown = characters.slice(0, valueCharactersMax).join('');
  return visibleLine(shown) + (isCut ? '…' : '');
}
