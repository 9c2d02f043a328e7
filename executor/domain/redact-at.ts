import type { JsonValue } from '#contracts/vocabulary';
import { pointerStep } from './outline.ts';
import { redactedText } from './shown-headers.ts';

/** Where a walk stands, and who is told what it replaces. */
export interface Noted {
  /** JSON pointer, with `*` for every entry of a list. */
  readonly at: string;
  readonly note: (at: string) => void;
}

/** A value with what a path names replaced, wherever it leads; the value itself where that is nowhere. */
export function redactAt(
  value: JsonValue,
  [step, ...rest]: readonly string[],
  { at, note }: Noted,
): JsonValue {
  if (step === undefined) {
    note(at);
    return redactedText;
  }
  if (Array.isArray(value)) return redactItems(value, [step, ...rest], { at, note });
  if (typeof value !== 'object' || value === null) return value;
  const within = { at: `${at}/${step === '*' ? step : pointerStep(step)}`, note };
  if (step === '*') {
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, redactAt(each, rest, within)]),
    );
  }
  const given = Object.hasOwn(value, step) ? value[step] : undefined;
  if (given === undefined) return value;
  const shown = redactAt(given, rest, within);
  return shown === given ? value : { ...value, [step]: shown };
}

/** The list itself where nothing in it is replaced. */
function redactItems(
  items: JsonValue[],
  [step = '', ...rest]: readonly string[],
  { at, note }: Noted,
): JsonValue[] {
  let shown: JsonValue[] | undefined;
  const redactOne = (index: number, steps: readonly string[], within: Noted) => {
    const given = items[index] as JsonValue;
    const replaced = redactAt(given, steps, within);
    if (replaced === given) return;
    shown ??= [...items];
    shown[index] = replaced;
  };
  if (/^\d+$/.test(step)) {
    if (Number(step) < items.length) redactOne(Number(step), rest, { at: `${at}/${step}`, note });
    return shown ?? items;
  }
  // A path that says nothing of a list means every entry of it.
  const steps = step === '*' ? rest : [step, ...rest];
  const within = { at: `${at}/*`, note };
  for (const index of items.keys()) redactOne(index, steps, within);
  return shown ?? items;
}
