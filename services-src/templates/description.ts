import type { DescriptionPart } from '../contracts/template.ts';
import { toVisibleLine } from './hidden-text.ts';

/** A longer value is cut, because a description is one line that a person reads at a glance. */
const valueCharactersMax = 120;

/**
 * Describes in one line what an action will do. Values come from agents, so characters that could
 * hide or reorder text (control, format and bidirectional characters) are shown as escapes.
 */
export function renderDescription(
  parts: readonly DescriptionPart[],
  params: Readonly<Record<string, unknown>>,
): string {
  // A description may repeat a parameter hundreds of times, so each value is serialised only once.
  const texts = new Map<string, string>();
  const renderPart = (part: SimplePart): string => {
    if ('text' in part) return toVisibleLine(part.text);
    const text = texts.get(part.param) ?? renderParam(params, part.param);
    texts.set(part.param, text);
    return text;
  };
  return parts
    .map((part) => {
      if (!('optional' in part)) return renderPart(part);
      const isComplete = part.optional.every(
        (innerPart) => !('param' in innerPart) || isGivenParam(params, innerPart.param),
      );
      return isComplete ? part.optional.map(renderPart).join('') : '';
    })
    .join('')
    .trim();
}

type SimplePart = Exclude<DescriptionPart, { optional: unknown }>;

function renderParam(params: Readonly<Record<string, unknown>>, name: string): string {
  return isGivenParam(params, name) ? renderValue(params[name]) : '';
}

function isGivenParam(params: Readonly<Record<string, unknown>>, name: string): boolean {
  return Object.hasOwn(params, name) && params[name] !== undefined;
}

function renderValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  // The text is cut before it is split into characters, because only its beginning is used.
  const characters = Array.from(text.slice(0, 2 * valueCharactersMax + 2));
  const isCut = characters.length > valueCharactersMax;
  const shownCharacters = characters.slice(0, valueCharactersMax).join('');
  return toVisibleLine(shownCharacters) + (isCut ? '…' : '');
}
