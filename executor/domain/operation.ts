import type { CompiledAction, CompiledTemplate } from '#contracts/template';

/** The action of a template that a method and path belong to; where several fit, the one with the most fixed segments. */
export function findOperation(
  template: CompiledTemplate,
  { method, path }: { method: string; path: string },
): CompiledAction | undefined {
  const segments = path.split('/');
  let best: { action: CompiledAction; fixed: number } | undefined;
  for (const action of Object.values(template.actions)) {
    if (action.method !== method) continue;
    const fixed = countFixed(action, segments);
    if (fixed !== undefined && (best === undefined || fixed > best.fixed)) best = { action, fixed };
  }
  return best?.action;
}

/** How many segments are written out in the template; undefined when the path does not fit it. */
function countFixed(action: CompiledAction, segments: readonly string[]): number | undefined {
  const expected = action.path.split('/');
  const open = action.params.find((param) => param.in === 'path' && param.allowReserved);
  const tail = open && expected.at(-1) === `{${open.name}}` ? segments.length - expected.length : 0;
  if (segments.length - tail !== expected.length || tail < 0) return undefined;
  let fixed = 0;
  for (const [at, segment] of expected.entries()) {
    const found = segments[at] ?? '';
    if (!segment.includes('{')) {
      if (segment !== found) return undefined;
      fixed += 1;
    } else if (!fitsPlaceholder(segment, found)) return undefined;
  }
  return fixed;
}

/** `{owner}` or `{id}.json`: the text around the placeholders must be there, in order. */
function fitsPlaceholder(segment: string, found: string): boolean {
  const texts = segment.split(/\{[^{}]+\}/);
  const [first = '', last = ''] = [texts[0], texts.at(-1)];
  if (found.length < first.length + last.length + 1) return false;
  return found.startsWith(first) && found.endsWith(last);
}
