import type { DescriptionPart } from '#contracts/template';

/**
 * The grammar of an action's summary (docs/writing-templates.md#fields):
 *
 *     Create issue "{title}" in {repository}[ with labels {labels}]
 *
 * `{name}` stands for the value of a parameter. Text in `[…]` is left out when one of its
 * parameters is absent. A backslash escapes the next character. The validator and the compiler both
 * use this parser; `#templates` renders the parsed parts.
 */
export type ParsedDescription =
  | { readonly ok: true; readonly parts: DescriptionPart[] }
  | { readonly ok: false; readonly problem: string };

type SimplePart = Exclude<DescriptionPart, { optional: unknown }>;

class SyntaxRefusal extends Error {}

export function parseDescription(text: string): ParsedDescription {
  try {
    return { ok: true, parts: parseParts(text) };
  } catch (error) {
    if (error instanceof SyntaxRefusal) return { ok: false, problem: error.message };
    throw error;
  }
}

/**
 * Lists the parameters that a description names; `optional` is true for those only inside `[…]`.
 */
export function parametersOf(
  parts: readonly DescriptionPart[],
): Map<string, { optional: boolean }> {
  const params = new Map<string, { optional: boolean }>();
  for (const part of parts) {
    const innerParts = 'optional' in part ? part.optional : [part];
    for (const simplePart of innerParts) {
      if (!('param' in simplePart)) continue;
      const isOptionalSoFar = params.get(simplePart.param)?.optional ?? true;
      params.set(simplePart.param, { optional: isOptionalSoFar && 'optional' in part });
    }
  }
  return params;
}

const syntaxToken =
  /\\(?<escaped>[[\]{}\\])|\{(?<param>[^{}]*)\}|(?<text>[^{}[\]\\]+)|(?<mark>[[\]{}\\])/gu;

function parseParts(text: string): DescriptionPart[] {
  const parts: DescriptionPart[] = [];
  let optional: SimplePart[] | undefined;
  for (const match of text.matchAll(syntaxToken)) {
    const { escaped, param, text: plainText, mark } = match.groups ?? {};
    const column = match.index + 1;
    if (mark === '[') {
      if (optional) throw new SyntaxRefusal(`the "[" at column ${column} is inside another "["`);
      optional = [];
    } else if (mark === ']') {
      if (!optional)
        throw new SyntaxRefusal(
          `the "]" at column ${column} closes nothing; write "\\]" for a bracket`,
        );
      if (!optional.some((part) => 'param' in part)) {
        throw new SyntaxRefusal(
          `the "[…]" that ends at column ${column} names no parameter, so nothing decides whether it is shown`,
        );
      }
      parts.push({ optional });
      optional = undefined;
    } else if (mark === undefined) {
      appendPart(
        optional ?? parts,
        param === undefined
          ? { text: escaped ?? plainText ?? '' }
          : { param: parameterNameIn(param, column) },
      );
    } else {
      throw new SyntaxRefusal(
        `the "${mark}" at column ${column} has no counterpart; write "\\${mark}" to show it`,
      );
    }
  }
  if (optional) throw new SyntaxRefusal('a "[" is never closed; write "\\[" for a bracket');
  return parts;
}

function parameterNameIn(param: string, column: number): string {
  const name = param.trim();
  if (name === '') throw new SyntaxRefusal(`the "{}" at column ${column} names no parameter`);
  return name;
}

function appendPart(parts: (DescriptionPart | SimplePart)[], part: SimplePart): void {
  const last = parts.at(-1);
  if (last && 'text' in last && 'text' in part) last.text += part.text;
  else parts.push(part);
}
