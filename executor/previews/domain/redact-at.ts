import type { JsonValue } from '#contracts/vocabulary';
import { pointerStep } from './outline.ts';
import { redactionMarker } from '../../request/domain/shown-headers.ts';

/** The current position in a value, and the callback for each value that is replaced. */
export interface RedactionWalk {
  /** A JSON pointer with `*` in place of each list index. */
  readonly at: string;
  readonly note: (at: string) => void;
}

/**
 * Copies a value and replaces everything at the path. Returns the value itself when there is
 * nothing at the path.
 */
export function redactAt(
  value: JsonValue,
  [step, ...rest]: readonly string[],
  { at, note }: RedactionWalk,
): JsonValue {
  if (step === undefined) {
    note(at);
    return redactionMarker;
  }
  if (Array.isArray(value)) return redactItems(value, [step, ...rest], { at, note });
  if (typeof value !== 'object' || value === null) return value;
  const childWalk = { at: `${at}/${step === '*' ? step : pointerStep(step)}`, note };
  if (step === '*') {
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, redactAt(each, rest, childWalk)]),
    );
  }
  const child = Object.hasOwn(value, step) ? value[step] : undefined;
  if (child === undefined) return value;
  const redactedChild = redactAt(child, rest, childWalk);
  return redactedChild === child ? value : { ...value, [step]: redactedChild };
}

/** Returns the list itself when nothing in it is replaced. */
function redactItems(
  items: JsonValue[],
  [step = '', ...rest]: readonly string[],
  { at, note }: RedactionWalk,
): JsonValue[] {
  let redactedItems: JsonValue[] | undefined;
  const redactItem = (index: number, steps: readonly string[], walk: RedactionWalk) => {
    const item = items[index] as JsonValue;
    const redactedItem = redactAt(item, steps, walk);
    if (redactedItem === item) return;
    redactedItems ??= [...items];
    redactedItems[index] = redactedItem;
  };
  if (/^\d+$/.test(step)) {
    if (Number(step) < items.length) redactItem(Number(step), rest, { at: `${at}/${step}`, note });
    return redactedItems ?? items;
  }
  // A step that is not a list index applies to every entry of a list.
  const steps = step === '*' ? rest : [step, ...rest];
  const childWalk = { at: `${at}/*`, note };
  for (const index of items.keys()) redactItem(index, steps, childWalk);
  return redactedItems ?? items;
}
