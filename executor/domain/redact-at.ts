import type { JsonValue } from '#contracts/vocabulary';
import { pointerStep } from './outline.ts';
import { redactedText } from './shown-headers.ts';

/** Where a walk stands, and who is told what it replaces. */
export interface Noted {
  /** JSON pointer, with `*` for every entry of a list. */
  readonly at: string;
  readonly note: (at: string) => void;
}

/** A value with what a path names replaced, wherever it leads. */
export function redactAt(
  value: JsonValue,
  [step, ...rest]: readonly string[],
  { at, note }: Noted,
): JsonValue {
  if (step === undefined) {
    note(at);
    return redactedText;
  }
  if (Array.isArray(value)) {
    const isIndex = /^\d+$/.test(step);
    // A path that says nothing of a list means every entry of it.
    return value.map((each, index) => {
      if (isIndex) {
        const isMeant = index === Number(step);
        return isMeant ? redactAt(each, rest, { at: `${at}/${step}`, note }) : each;
      }
      return redactAt(each, step === '*' ? rest : [step, ...rest], { at: `${at}/*`, note });
    });
  }
  if (typeof value !== 'object' || value === null) return value;
  const within = `${at}/${step === '*' ? step : pointerStep(step)}`;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      step === '*' || step === key ? redactAt(each, rest, { at: within, note }) : each,
    ]),
  );
}
