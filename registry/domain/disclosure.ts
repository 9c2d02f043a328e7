import type { CompiledAction } from '#contracts/template';
import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import { checkFields } from './fields.ts';
import type { DeclaredParam } from './parameters.ts';
import { didYouMean } from './nearest.ts';
import { readList, readText } from './reading.ts';

/** `disclose`: what a person sees of a call before allowing it. */
export function compileDisclose(
  context: Context,
  operation: Place<JsonObject>,
): CompiledAction['disclose'] {
  const entries = readList(context, operation, { key: 'x-service-disclose', max: 50 });
  return entries.flatMap(({ value, path }) => {
    if (!isObject(value)) {
      context.findings.error(
        'disclose_invalid',
        path,
        'An entry must be {label, filter, max_chars?}.',
      );
      return [];
    }
    const at = { value, path };
    checkFields(context, at, 'disclosure');
    const label = readText(context, at, { key: 'label', max: 100, required: true });
    const filter = readText(context, at, { key: 'filter', max: 2000, required: true });
    const maxChars = value['max_chars'] ?? null;
    if (
      maxChars !== null &&
      !(Number.isInteger(maxChars) && Number(maxChars) >= 1 && Number(maxChars) <= 10_240)
    ) {
      context.findings.error(
        'disclose_invalid',
        [...path, 'max_chars'],
        '"max_chars" must be an integer from 1 to 10240.',
      );
      return [];
    }
    if (label === undefined || filter === undefined) return [];
    const problem = context.options.checkFilter?.(filter);
    if (problem !== undefined) {
      context.findings.error(
        'disclose_invalid',
        [...path, 'filter'],
        `The filter is not valid jq: ${problem.slice(0, 300)}`,
      );
      return [];
    }
    return [{ label, filter, maxChars: maxChars === null ? null : Number(maxChars) }];
  });
}

const redactSegment = /^[^.\s]+$/;

/**
 * `redact`: dotted paths into `{method, url, params, body}`; `*` stands for
 * every element or property. A property of the body is also a parameter, so
 * naming it in one place removes it from both.
 */
export function compileRedact(
  context: Context,
  operation: Place<JsonObject>,
  { params, wholeBody }: { params: readonly DeclaredParam[]; wholeBody: boolean },
): string[] {
  const paths = readList(context, operation, { key: 'x-service-redact', max: 50 });
  const redacted = paths.flatMap(({ value, path }) => {
    const [root = '', name, ...rest] =
      typeof value === 'string' && value.length <= 490 ? value.split('.') : [];
    const segments = [root, ...(name === undefined ? [] : [name]), ...rest];
    if (
      !['url', 'params', 'body'].includes(root) ||
      !segments.every((segment) => redactSegment.test(segment))
    ) {
      const message =
        'Write a dotted path that starts with body, params or url, such as body.password or body.items.*.secret.';
      context.findings.error('redact_invalid', path, message);
      return [];
    }
    const inBody = params.filter((param) => param.in === 'body');
    const known =
      root === 'params' ? params.map((param) => param.name) : inBody.map((param) => param.wireName);
    const isChecked =
      name !== undefined && name !== '*' && (root === 'params' || (root === 'body' && !wholeBody));
    if (isChecked && !known.includes(name)) {
      const message = `There is no "${name}" to redact.${didYouMean(name, known)} Correct the path: what is misspelled would be kept.`;
      context.findings.error('redact_invalid', path, message);
      return [];
    }
    return withMirror(segments, { inBody, wholeBody });
  });
  return [...new Set(redacted)];
}

function withMirror(
  segments: string[],
  { inBody, wholeBody }: { inBody: DeclaredParam[]; wholeBody: boolean },
): string[] {
  const [root, ...rest] = segments;
  const own = segments.join('.');
  if (wholeBody && root === 'body') return [own, ['params', 'body', ...rest].join('.')];
  const [name, ...deeper] = rest;
  const isAll = name === undefined || name === '*';
  const key = root === 'body' ? 'wireName' : 'name';
  const param = inBody.find((candidate) => candidate[key] === name);
  if (root === 'url' || !(isAll || param)) return [own];
  if (root === 'params' && wholeBody) return [own, ['body', ...deeper].join('.')];
  const mirrored = param ? [root === 'body' ? param.name : param.wireName, ...deeper] : rest;
  return [own, [root === 'body' ? 'params' : 'body', ...mirrored].join('.')];
}
