import type { DescriptionPart } from '#contracts/template';

/**
 * The grammar of an action's summary (docs/writing-templates.md#fields):
 *
 *     Create issue "{title}" in {repository}[ with labels {labels}]
 *
 * `{name}` is a parameter, `[…]` is dropped when one of its parameters is
 * absent, and a backslash makes the next character ordinary. Validator and
 * compiler both use this parser; `#templates` renders what it returns.
 */
export type ParsedDescription =
  | { readonly ok: true; readonly parts: DescriptionPart[] }
  | { readonly ok: false; readonly problem: string };

type SimplePart = Exclude<DescriptionPart, { optional: unknown }>;

class Refusal extends Error {}

export function parseDescription(text: string): ParsedDescription {
  try {
    return { ok: true, parts: parseParts(text) };
  } catch (thrown) {
    if (thrown instanceof Refusal) return { ok: false, problem: thrown.message };
    throw thrown;
  }
}

/** Every parameter a description names, with whether all its mentions are inside `[…]`. */
export function parametersOf(
  parts: readonly DescriptionPart[],
): Map<string, { optional: boolean }> {
  const found = new Map<string, { optional: boolean }>();
  for (const part of parts) {
    const inner = 'optional' in part ? part.optional : [part];
    for (const simple of inner) {
      if (!('param' in simple)) continue;
      const earlier = found.get(simple.param)?.optional ?? true;
      found.set(simple.param, { optional: earlier && 'optional' in part });
    }
  }
  return found;
}

const token =
  /\\(?<escaped>[[\]{}\\])|\{(?<param>[^{}]*)\}|(?<text>[^{}[\]\\]+)|(?<mark>[[\]{}\\])/gu;

function parseParts(text: string): DescriptionPart[] {
  const parts: DescriptionPart[] = [];
  let optional: SimplePart[] | undefined;
  for (const match of text.matchAll(token)) {
    const { escaped, param, text: plain, mark } = match.groups ?? {};
    const column = match.index + 1;
    if (mark === '[') {
      if (optional) throw new Refusal(`the "[" at column ${column} is inside another "["`);
      optional = [];
    } else if (mark === ']') {
      if (!optional)
        throw new Refusal(`the "]" at column ${column} closes nothing; write "\\]" for a bracket`);
      if (!optional.some((part) => 'param' in part)) {
        throw new Refusal(
          `the "[…]" that ends at column ${column} names no parameter, so nothing decides whether it is shown`,
        );
      }
      parts.push({ optional });
      optional = undefined;
    } else if (mark === undefined) {
      add(
        optional ?? parts,
        param === undefined ? { text: escaped ?? plain ?? '' } : { param: named(param, column) },
      );
    } else {
      throw new Refusal(
        `the "${mark}" at column ${column} stands alone; write "\\${mark}" to show it`,
      );
    }
  }
  if (optional) throw new Refusal('a "[" is never closed; write "\\[" for a bracket');
  return parts;
}

function named(param: string, column: number): string {
  const name = param.trim();
  if (name === '') throw new Refusal(`the "{}" at column ${column} names no parameter`);
  return name;
}

function add(parts: (DescriptionPart | SimplePart)[], part: SimplePart): void {
  const last = parts.at(-1);
  if (last && 'text' in last && 'text' in part) last.text += part.text;
  else parts.push(part);
}
